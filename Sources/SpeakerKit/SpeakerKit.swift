// SpeakerKit
