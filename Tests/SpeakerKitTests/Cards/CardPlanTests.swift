import EventLoop
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Speakers on sound cards", .tags(.speaker, .cards))
struct CardPlanTests {
  private static let usb = Output.alsa(device: "hw:1")
  private static let eight = Output.alsa(device: "hw:2,0")

  @Test("speakers that name one card share it; others have the card of the house")
  func shares() throws {
    let plan = try CardPlan(
      [
        SpeakerSpec(name: "Kitchen", output: Self.eight, channels: [3, 4], delay: .milliseconds(12)),
        SpeakerSpec(name: "Bath", output: Self.eight, channels: [7]),
        SpeakerSpec(name: "Hall"),
        SpeakerSpec(name: "Study", output: Self.usb),
      ], output: .alsa(device: "default"))
    #expect(plan.cards.map(\.device) == ["hw:2,0", "default", "hw:1"])
    #expect(plan.cards.map(\.channels) == [7, 2, 2])
    #expect(plan.cards.map(\.speakers) == [[0, 1], [2], [3]])
    #expect(plan.cards[0].delays == [0, 0, 576, 576, 0, 0, 0])
    #expect(
      plan.routes == [
        CardRoute(card: 0, left: 2, right: 3), CardRoute(card: 0, left: 6, right: -1),
        CardRoute(card: 1, left: 0, right: 1), CardRoute(card: 2, left: 0, right: 1),
      ])
    #expect(plan.fallback == CardRoute(card: 1, left: 0, right: 1))
    #expect(!plan.isPlain)
  }

  @Test("a house whose speakers all have its card, and no more, is the plain one")
  func plain() throws {
    let specs = [SpeakerSpec(name: "A"), SpeakerSpec(name: "B")]
    #expect(try CardPlan(specs, output: Self.usb).isPlain)
    #expect(try CardPlan(specs, output: Self.usb).cards[0].isShared)
    #expect(try CardPlan(specs, output: .null).cards.isEmpty)
  }

  @Test("settings that don't fit are refused, with the speaker and the option")
  func refusals() throws {
    func problem(_ specs: [SpeakerSpec], _ output: Output = Self.usb) -> String {
      do {
        _ = try CardPlan(specs, output: output)
        return "none"
      } catch { return "\(error.speaker) \(error.option): \(error.message)" }
    }
    let kitchen = SpeakerSpec(name: "Kitchen", channels: [3, 4])
    #expect(
      problem([kitchen, SpeakerSpec(name: "Bath", channels: [4])])
        == "1 channels: channel 4 of \"hw:1\" is \"Kitchen\"'s; name channels of its own")
    #expect(
      problem([SpeakerSpec(name: "A"), SpeakerSpec(name: "B", delay: .milliseconds(1))])
        == "1 delay: it shares channels 1 and 2 of \"hw:1\" with \"A\", and so the delay")
    for channels in [[0], [65], [1, 1], [1, 2, 3]] {
      #expect(
        problem([SpeakerSpec(name: "A", channels: channels)])
          == "0 channels: one or two different channels expected, counted from 1, as in { 3, 4 }")
    }
    #expect(problem([SpeakerSpec(name: "A", delay: .milliseconds(501))]) == "0 delay: 0 to 500 ms expected")
    #expect(
      problem([kitchen], .null)
        == "0 channels: the house's output is null; give the speaker a card, as in output = \"alsa:hw:1\"")
    #expect(problem([SpeakerSpec(name: "A", output: .null)]).hasPrefix("0 output: \"null\" is for the whole"))
    let files = problem([SpeakerSpec(name: "A", output: Self.usb)], .wav(folder: "x"))
    #expect(files.hasPrefix("0 output: the house's output wav:x is for all speakers"))
  }
}
