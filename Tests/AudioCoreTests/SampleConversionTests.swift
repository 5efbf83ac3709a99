import AudioCore
import TestTraits
import Testing

@Suite("Sample conversion", .tags(.rendering)) struct SampleConversionTests {
  @Test("all 65,536 numbers of 16 bits come back unchanged") func sixteenBits() {
    for sample in Int16.min...Int16.max {
      #expect(SampleConversion.int16(SampleConversion.float(sample)) == sample)
    }
  }

  @Test("24 bits come back unchanged") func twentyFourBits() {
    for sample in stride(from: Int32(-8_388_608), through: 8_388_607, by: 4093) {
      #expect(SampleConversion.int24(SampleConversion.float(int24: sample)) == sample)
    }
    #expect(SampleConversion.int24(SampleConversion.float(int24: 8_388_607)) == 8_388_607)
  }

  @Test("rounds to the nearest, halves to even") func rounds() {
    let unit = Float(0x1p-15)
    #expect(SampleConversion.int16(1.4 * unit) == 1)
    #expect(SampleConversion.int16(1.6 * unit) == 2)
    #expect(SampleConversion.int16(0.5 * unit) == 0)
    #expect(SampleConversion.int16(1.5 * unit) == 2)
    #expect(SampleConversion.int16(-1.5 * unit) == -2)
    #expect(SampleConversion.int16(-1.6 * unit) == -2)
  }

  @Test("clamps at full scale and makes 0 of what is not a number") func clamps() {
    #expect(SampleConversion.int16(1) == 32_767)
    #expect(SampleConversion.int16(9) == 32_767)
    #expect(SampleConversion.int16(.infinity) == 32_767)
    #expect(SampleConversion.int16(-1) == -32_768)
    #expect(SampleConversion.int16(-9) == -32_768)
    #expect(SampleConversion.int16(.nan) == 0)
    #expect(SampleConversion.int24(1) == 8_388_607)
    #expect(SampleConversion.int32(1) == .max)
    #expect(SampleConversion.int32(-1) == .min)
    #expect(SampleConversion.int32(0.5) == 0x4000_0000)
    #expect(SampleConversion.float(Int32.min) == -1)
  }
}
