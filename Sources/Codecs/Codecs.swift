// Codecs
