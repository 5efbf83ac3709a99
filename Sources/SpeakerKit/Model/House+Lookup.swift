public import EventLoop

extension House {
  /// Returns the speaker with that id or name, in any case; a part of a name suffices when only one speaker
  /// has it.
  /// - Returns: the speaker, or nil when none matches.
  /// - Throws: `speaker.unknown` when several speakers have that part; the hint lists them, or those of the
  ///   group with that name.
  public func find(_ idOrName: String) throws(SpeakerError) -> Device? {
    do {
      return try NameSearch.find(idOrName, kind: "speaker", in: devices, id: \.id, name: \.name)
    } catch { throw room(called: idOrName) ?? error }
  }

  /// Returns the speaker with that id or name, by the rules of `find`.
  /// - Throws: `speaker.unknown` also when no speaker matches; the hint suggests the nearest name, or lists
  ///   the speakers of the group with that name.
  public func device(_ idOrName: String) throws(SpeakerError) -> Device {
    if let device = try find(idOrName) { return device }
    if let room = room(called: idOrName) { throw room }
    throw NameSearch.unknown(idOrName, kind: "speaker", names: devices.map(\.name))
  }

  /// Returns the error for the name of a group where a speaker is expected; nil when no group has the name.
  private func room(called name: String) -> SpeakerError? {
    let wanted = name.lowercased()
    guard let group = groups.first(where: { $0.name.lowercased() == wanted }) else { return nil }
    let members = group.devices.map(\.name)
    return SpeakerError(
      .unknown, "\"\(group.name)\" is a group, not a speaker",
      hint: "speaker.group \"\(group.name)\" is the group; its speakers are "
        + members.map { "\"\($0)\"" }.joined(separator: ", "),
      facts: [.init("name", .string(name)), .init("candidates", .strings(members))])
  }

  /// Returns the group with that name or id, by the rules of `find`.
  public func findGroup(_ idOrName: String) throws(SpeakerError) -> Group? {
    try NameSearch.find(idOrName, kind: "group", in: groups, id: \.id, name: \.name)
  }

  /// Returns the group with that name or id, by the rules of `device`.
  public func group(_ idOrName: String) throws(SpeakerError) -> Group {
    if let group = try findGroup(idOrName) { return group }
    throw speaker(called: idOrName) ?? NameSearch.unknown(idOrName, kind: "group", names: groups.map(\.name))
  }

  /// Returns the error for the name of a speaker where a group is expected; nil when no speaker has the name.
  private func speaker(called name: String) -> SpeakerError? {
    let wanted = name.lowercased()
    guard let device = devices.first(where: { $0.name.lowercased() == wanted }) else { return nil }
    let shown = "\"\(device.name)\""
    let hint =
      if device.groupName != Group.ungrouped {
        "it is in the group \"\(device.groupName)\"; speaker.device \(shown) is the speaker"
      } else if driver.capabilities.contains("group") {
        "speaker.device(\(shown)):set_group \(shown) puts it into a group of that name"
      } else { "speaker.device \(shown) is the speaker; groups are made in the app of the speakers" }
    return SpeakerError(
      .unknown,
      "no group is called \"\(name)\": \(shown) is a speaker"
        + (device.groupName == Group.ungrouped ? " in no group" : ""),
      hint: hint, facts: [.init("name", .string(name))])
  }
}

/// Search by typed names.
enum NameSearch {
  /// Returns the element whose id or name is `text`, else the only one whose name contains it, in any case.
  static func find<Element>(
    _ text: String, kind: String, in elements: [Element], id: (Element) -> String,
    name: (Element) -> String
  ) throws(SpeakerError) -> Element? {
    try check(text, kind)
    if let exact = elements.first(where: { id($0) == text || name($0) == text }) { return exact }
    let wanted = text.lowercased()
    guard !wanted.isEmpty else { return nil }
    let sameName = elements.filter { name($0).lowercased() == wanted || id($0).lowercased() == wanted }
    if let only = sameName.first, sameName.count == 1 { return only }
    let candidates = sameName.isEmpty ? elements.filter { name($0).lowercased().contains(wanted) } : sameName
    guard candidates.count > 1 else { return candidates.first }
    throw ambiguous(text, "\(kind)s", candidates.map(name))
  }

  /// Refuses a text that is longer than any name, before it is compared.
  static func check(_ text: String, _ kind: String) throws(SpeakerError) {
    let count = text.utf8.count
    guard count > longestName else { return }
    throw SpeakerError(
      .unknown, "the name of a \(kind) has at most \(longestName) bytes, and \"\(text.excerpt)\" has \(count)"
    )
  }

  /// Returns the error for a name that several elements match.
  static func ambiguous(_ text: String, _ plural: String, _ names: [String]) -> SpeakerError {
    SpeakerError(
      .unknown, "\"\(text.excerpt)\" could be several \(plural)",
      hint: "write more of the name: " + names.map { "\"\($0)\"" }.joined(separator: ", "),
      facts: [.init("name", .string(text.excerpt)), .init("candidates", .strings(names))])
  }

  /// Returns the error for a name that no element matches.
  static func unknown(_ text: String, kind: String, plural: String? = nil, names: [String]) -> SpeakerError {
    let nearest = nearest(to: text, in: names)
    let hint =
      if let nearest { "did you mean \"\(nearest)\"?" } else if names.isEmpty {
        "the house has no \(plural ?? kind + "s")"
      } else { "there are " + names.map { "\"\($0)\"" }.joined(separator: ", ") }
    return SpeakerError(
      .unknown, "no \(kind) is called \"\(text.excerpt)\"", hint: hint,
      facts: [.init("name", .string(text.excerpt))]
        + (nearest.map { [.init("suggestion", .string($0))] } ?? []))
  }

  /// Returns the name at the least edit distance, nil when more than half of it would have to change.
  /// Compares with whole names and with their words, so that `"bathrom"` and `"kitchn speaker"` both match.
  static func nearest(to text: String, in names: [String]) -> String? {
    let wanted = Array(text.lowercased().unicodeScalars)
    var best: (name: String, distance: Int)?
    for name in names {
      let lowered = name.lowercased()
      let forms = [lowered] + lowered.split(separator: " ").map(String.init)
      let distances = forms.compactMap { form -> Int? in
        let letters = Array(form.unicodeScalars)
        let distance = editDistance(wanted, letters)
        return 2 * distance <= max(wanted.count, letters.count) ? distance : nil
      }
      guard let distance = distances.min() else { continue }
      if distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
  }
}
