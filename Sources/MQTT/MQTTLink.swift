internal import CMosquitto
public import EventLoop
internal import Glibc

/// The library of MQTT.
public enum MosquittoLibrary {
  private static let library = SharedLibrary<mosquitto_library>(
    "libmosquitto.so.1", package: "libmosquitto1", names: mosquitto_names())
  /// `true` once the library is initialized for the process. Source: mosquitto_lib_init in libmosquitto(3).
  /// The failure to load it; nil if it is loaded.
  public static var failure: LibraryError? { library.failure }
  private static let isReady = (try? library.functions).map { $0.mosquitto_lib_init() == 0 } ?? false

  static var functions: mosquitto_library {
    get throws(MQTTFailure) {
      do throws(LibraryError) {
        let functions = try library.functions
        guard isReady else {
          throw LibraryError(
            message: "libmosquitto does not start", hint: "apt install --reinstall libmosquitto1")
        }
        return functions
      } catch { throw .library(error) }
    }
  }
}

extension MQTTFailure: Error {}

// @unchecked Sendable: one thread at a time uses a link: first the one that opens it, then, after it was handed over by
// a post, the network thread.
/// One connection of libmosquitto, from its opening to its end. Its calls return what they led to as events.
///
/// Source: libmosquitto(3), mosquitto.h of 2.0.
final class MQTTLink: @unchecked Sendable {
  enum Event {
    case accepted
    case failed(MQTTFailure)
    /// A message, with the numbers of its subscriptions if the broker sends them.
    case message(MQTTMessage, subscriptions: Set<Int>)
    /// A message of that topic was dropped, for its size or its topic.
    case dropped(topic: String, bytes: Int)
    /// The message with the library's number has left, or is acknowledged or refused.
    case published(Int32, isRefused: Bool)
    /// The request of a subscription with the library's number, or of its end, is answered.
    case answered(Int32, isRefused: Bool)
  }

  /// The largest packet: that of the largest payload and topic. A broker of MQTT 5 is asked not to send larger ones.
  private static let largestPacket = MQTTMessage.largestPayload + MQTTTopic.longest + 4096
  /// The bytes of an unfinished packet at which the connection is ended: libmosquitto keeps it whole. A broker of MQTT
  /// 3.1.1 can't be asked to send no such packet, and gets more room.
  private var packetLimit: Int { isFive ? 2 * Self.largestPacket : 16 << 20 }

  private let library: mosquitto_library
  private let settings: MQTTSettings
  private let isFive: Bool
  private var client: OpaquePointer?
  private var events: [Event] = []
  private var complaint: String?
  /// The bytes that the connection had received at the end of the last packet that led to an event.
  private var bytesBeforePacket = 0

  /// - Throws: the failure to load the library.
  init(_ settings: MQTTSettings, isFive: Bool) throws(MQTTFailure) {
    library = try MosquittoLibrary.functions
    (self.settings, self.isFive) = (settings, isFive)
  }

  deinit { close() }

  /// The socket; nil without one.
  var socket: Int32? {
    guard let client else { return nil }
    let socket = library.mosquitto_socket(client)
    return socket >= 0 ? socket : nil
  }
  /// `true` if bytes wait for the socket to accept them.
  var wantsToWrite: Bool { client.map { library.mosquitto_want_write($0) } ?? false }

  // MARK: Opening

  /// Resolves the host, connects and queues the login. Blocks the calling thread for as long as the system tries.
  func open() throws(MQTTFailure) {
    let context = Unmanaged.passUnretained(self).toOpaque()  // `close` ends the client before the link
    guard let client = library.mosquitto_new(settings.clientID, true, context) else {
      throw .network("no memory for a connection")
    }
    self.client = client
    if isFive { _ = library.mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5) }
    setCallbacks(client)
    try setLogin(client)
    if settings.usesTLS { try setTLS(client) }
    if let will = settings.will {
      let status = library.mosquitto_will_set(
        client, will.topic, Int32(will.payload.count), will.payload, Int32(will.qos), will.isRetained)
      guard status == MOSQ_ERR_SUCCESS.rawValue else { throw failure(status) }
    }
    var properties: OpaquePointer?
    if isFive {
      _ = library.mosquitto_property_add_int32(
        &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), UInt32(Self.largestPacket))
    }
    defer { library.mosquitto_property_free_all(&properties) }
    errno = 0
    let status = library.mosquitto_connect_bind_v5(
      client, settings.host, Int32(settings.port), Int32(settings.keepAlive), nil, properties)
    guard status == MOSQ_ERR_SUCCESS.rawValue else { throw failure(status) }
    // The library leaves it open in programs that scripts start.
    if let socket { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
  }

  private func setLogin(_ client: OpaquePointer) throws(MQTTFailure) {
    var password: String?
    if let path = settings.passwordFile {
      do throws(WholeFile.ReadError) {
        let text = String(decoding: try WholeFile.read(path, atMost: 4096, isSecret: true), as: UTF8.self)
        password = text.last?.isNewline == true ? String(text.dropLast()) : text
      } catch {
        throw .login(
          "its password_file \(path) can't be read: \(error.reason)" + (error.hint.map { "; \($0)" } ?? ""))
      }
    }
    guard settings.user != nil || password != nil else { return }
    let status = library.mosquitto_username_pw_set(client, settings.user ?? "", password)
    guard status == MOSQ_ERR_SUCCESS.rawValue else { throw .login("its user has characters that MQTT lacks") }
  }

  private func setTLS(_ client: OpaquePointer) throws(MQTTFailure) {
    if let file = settings.certificateFile {
      guard access(file, R_OK) == 0 else {
        throw .login("its ca_file \(file) can't be read: \(String(cString: strerror(errno)))")
      }
    }
    // Without a file: the system's certificates, each of which has a link by its hash in this folder.
    let folder = settings.certificateFile == nil ? "/etc/ssl/certs" : nil
    let status = library.mosquitto_tls_set(client, settings.certificateFile, folder, nil, nil, nil)
    guard status == MOSQ_ERR_SUCCESS.rawValue else { throw failure(status) }
  }

  private func failure(_ status: Int32) -> MQTTFailure {
    // The library takes the numbers of several subscriptions in one message for a fault: 3.1.1 has none.
    if isFive, status == MOSQ_ERR_DUPLICATE_PROPERTY.rawValue { return .protocolVersion }
    if status == MOSQ_ERR_ERRNO.rawValue {
      if let complaint { return .network(complaint) }
      return .network(errno == 0 ? "the connection was closed" : String(cString: strerror(errno)))
    }
    if status == MOSQ_ERR_EAI.rawValue {
      return .network("its name can't be resolved")
    }
    return .network(complaint ?? Self.text(library.mosquitto_strerror(status)))
  }

  /// Returns a text of the library as the end of a sentence.
  private static func text(_ text: UnsafePointer<CChar>?) -> String {
    let text = text.map { String(cString: $0) } ?? "no reason is known"
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }

  // MARK: On the network thread

  /// The outcome of a request.
  enum Outcome {
    /// The library has given it a number, by which an event tells its end.
    case queued(Int32)
    /// The library does not send it.
    case refused
    /// The connection is lost, as an event tells.
    case lost
  }

  private func outcome(_ status: Int32, _ number: Int32) -> Outcome {
    switch status {
    case MOSQ_ERR_SUCCESS.rawValue: return .queued(number)
    case MOSQ_ERR_INVAL.rawValue, MOSQ_ERR_PAYLOAD_SIZE.rawValue, MOSQ_ERR_MALFORMED_UTF8.rawValue,
      MOSQ_ERR_QOS_NOT_SUPPORTED.rawValue, MOSQ_ERR_RETAIN_NOT_SUPPORTED.rawValue,
      MOSQ_ERR_OVERSIZE_PACKET.rawValue:
      return .refused
    default:
      lost(status)
      return .lost
    }
  }

  func publish(_ message: MQTTMessage) -> Outcome {
    guard let client else { return .lost }
    var number: Int32 = 0
    errno = 0
    let status = library.mosquitto_publish(
      client, &number, message.topic, Int32(message.payload.count), message.payload, Int32(message.qos),
      message.isRetained)
    return outcome(status, number)
  }

  /// Subscribes to a filter, whose messages have `number` if the broker speaks MQTT 5.
  func subscribe(_ filter: String, number: Int) -> Outcome {
    guard let client else { return .lost }
    var properties: OpaquePointer?
    defer { library.mosquitto_property_free_all(&properties) }
    if isFive {
      _ = library.mosquitto_property_add_varint(
        &properties, Int32(MQTT_PROP_SUBSCRIPTION_IDENTIFIER.rawValue), UInt32(number))
    }
    var request: Int32 = 0
    errno = 0
    let status = library.mosquitto_subscribe_v5(client, &request, filter, 1, 0, properties)
    return outcome(status, request)
  }

  func unsubscribe(_ filter: String) {
    guard let client else { return }
    _ = library.mosquitto_unsubscribe(client, nil, filter)
  }

  /// Reads a part of the received bytes.
  func read() {
    guard let client, let socket else { return }
    // A packet a call, for the most part.
    for _ in 0..<64 {
      let before = events.count
      let status = library.mosquitto_loop_read(client, 1)
      if status != MOSQ_ERR_SUCCESS.rawValue { return lost(status) }
      let received = Self.bytesReceived(at: socket)
      if events.count > before { bytesBeforePacket = received }
      if received - bytesBeforePacket > packetLimit { return events.append(tooLarge) }
      guard self.socket == socket, LinuxSockets.bytesWaiting(at: socket) > 0 else { return }
    }
  }

  /// Returns the bytes that a connection has received so far. Source: tcp(7); `tcpi_bytes_received` of <linux/tcp.h>.
  private static func bytesReceived(at socket: Int32) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
      var size = socklen_t(info.count)
      guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0, size >= 136 else {
        return 0
      }
      return Int(clamping: info.load(fromByteOffset: 128, as: UInt64.self))
    }
  }

  private var tooLarge: Event {
    .failed(.network("it sends a message of more than \(packetLimit >> 20) MiB"))
  }

  func write() {
    guard let client else { return }
    let status = library.mosquitto_loop_write(client, 1)
    if status != MOSQ_ERR_SUCCESS.rawValue { lost(status) }
  }

  /// Checks a silent connection.
  func check() {
    guard let client else { return }
    // The answers to pings are packets without an event.
    bytesBeforePacket += 16
    let status = library.mosquitto_loop_misc(client)
    if status != MOSQ_ERR_SUCCESS.rawValue { lost(status) }
  }

  /// Removes and returns the events of the calls before.
  func takeEvents() -> [Event] {
    defer { events = [] }
    return events
  }

  /// Publishes a last message, ends the connection, and releases the client. The broker then publishes no will.
  func farewell() {
    guard let client else { return }
    if var last = settings.will {
      // One to be acknowledged would wait behind others, and the end of the connection discards the will.
      last.qos = 0
      _ = publish(last)
    }
    _ = library.mosquitto_disconnect(client)
    close()
  }

  /// Ends the connection and releases the client. A second call does nothing.
  func close() {
    guard let client else { return }
    self.client = nil
    library.mosquitto_destroy(client)
  }

  private func lost(_ status: Int32) {
    let hasFailed = events.contains { if case .failed = $0 { true } else { false } }
    if !hasFailed { events.append(.failed(failure(status))) }
  }

  // MARK: Callbacks of libmosquitto

  private static func link(_ context: UnsafeMutableRawPointer?) -> MQTTLink? {
    context.map { Unmanaged<MQTTLink>.fromOpaque($0).takeUnretainedValue() }
  }

  private func setCallbacks(_ client: OpaquePointer) {
    library.mosquitto_connect_v5_callback_set(client) { _, context, code, _, _ in
      MQTTLink.link(context)?.greeted(code)
    }
    library.mosquitto_disconnect_v5_callback_set(client) { _, context, code, _ in
      MQTTLink.link(context)?.disconnected(code)
    }
    library.mosquitto_message_v5_callback_set(client) { _, context, message, properties in
      if let message { MQTTLink.link(context)?.received(message.pointee, properties) }
    }
    library.mosquitto_publish_v5_callback_set(client) { _, context, number, code, _ in
      MQTTLink.link(context)?.events.append(.published(number, isRefused: code >= 128))
    }
    library.mosquitto_subscribe_v5_callback_set(client) { _, context, number, count, codes, _ in
      let isRefused = codes.map { count > 0 && $0[0] >= 128 } ?? false
      MQTTLink.link(context)?.events.append(.answered(number, isRefused: isRefused))
    }
    library.mosquitto_unsubscribe_v5_callback_set(client) { _, context, number, _ in
      MQTTLink.link(context)?.events.append(.answered(number, isRefused: false))
    }
    library.mosquitto_log_callback_set(client) { _, context, level, text in
      guard level == MOSQ_LOG_ERR, let text else { return }
      MQTTLink.link(context)?.complained(String(cString: text))
    }
  }

  private func greeted(_ code: Int32) {
    switch code {
    case 0: events.append(.accepted)
    // The codes of MQTT 3.1.1 first, then those of MQTT 5.
    case 1, 132: events.append(.failed(.protocolVersion))
    case 4, 5, 134, 135:
      events.append(
        .failed(
          .login(settings.user == nil ? "it wants a user and a password" : "it refuses user and password")))
    case 2, 133: events.append(.failed(.login("it refuses the client id \(quoted(settings.clientID))")))
    case 138: events.append(.failed(.login("it has banned this client")))
    default:
      let text = code < 128 ? library.mosquitto_connack_string(code) : library.mosquitto_reason_string(code)
      events.append(.failed(.network("it refuses the connection: \(Self.text(text))")))
    }
  }

  private func disconnected(_ code: Int32) {
    let hasFailed = events.contains { if case .failed = $0 { true } else { false } }
    guard !hasFailed else { return }
    switch code {
    case 142:
      events.append(.failed(.network("another client has taken its client id \(quoted(settings.clientID))")))
    case 128...:
      events.append(
        .failed(.network("it ends the connection: " + Self.text(library.mosquitto_reason_string(code)))))
    case MOSQ_ERR_KEEPALIVE.rawValue: events.append(.failed(.network("it does not answer any more")))
    case MOSQ_ERR_CONN_LOST.rawValue, 0: events.append(.failed(.network("the connection was closed")))
    default: events.append(.failed(failure(code)))
    }
  }

  private func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
    guard let name = message.topic, let topic = String(validatingCString: name) else {
      return events.append(.dropped(topic: "", bytes: 0))
    }
    let count = Int(message.payloadlen)
    // A packet that arrives as fast as it is read is whole before `read` can look at it.
    guard count <= packetLimit else { return events.append(tooLarge) }
    guard count <= MQTTMessage.largestPayload, (try? MQTTTopic(topic)) != nil else {
      return events.append(.dropped(topic: topic, bytes: count))
    }
    let payload = message.payload.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: count)) } ?? []
    events.append(
      .message(
        MQTTMessage(topic, payload, isRetained: message.retain, qos: Int(message.qos)),
        subscriptions: subscriptions(in: properties)))
  }

  /// Returns the numbers of subscriptions. A broker may send a message once for several of them.
  ///
  /// Source: MQTT 5.0, 3.3.4.
  private func subscriptions(in properties: OpaquePointer?) -> Set<Int> {
    var (numbers, number): (Set<Int>, UInt32) = ([], 0)
    let kind = Int32(MQTT_PROP_SUBSCRIPTION_IDENTIFIER.rawValue)
    var found = library.mosquitto_property_read_varint(properties, kind, &number, false)
    while let property = found {
      numbers.insert(Int(number))
      found = library.mosquitto_property_read_varint(property, kind, &number, true)
    }
    return numbers
  }

  private func complained(_ text: String) {
    // "OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed"
    let words = text.split(separator: ":").last.map(String.init) ?? text
    complaint =
      words.contains("certificate verify failed")
      ? "its certificate is not valid for \(settings.host), or is signed by somebody unknown"
      : words.cleaned
  }
}
