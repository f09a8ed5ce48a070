// A machine whose clock is wrong by CLOCK_MS: all that asks for the date gets another one. Timers are right.
const off = Number(process.env.CLOCK_MS)
const RightDate = Date

globalThis.Date = class extends RightDate {
  constructor(...args) {
    if (args.length === 0) super(RightDate.now() + off)
    else super(...args)
  }

  static now() {
    return RightDate.now() + off
  }
}
