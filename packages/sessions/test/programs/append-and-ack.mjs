// Appends numbered events to a log until it is killed, and prints each number once it may not be lost any more:
// `node append-and-ack.mjs MODULE PROJECT SESSION FIRST`. Half of them are acknowledged when a reader has seen them, which
// must survive the death of the process; the others when the disk has them.
import { writeSync } from 'node:fs'

const [module, project, session, first] = process.argv.slice(2)
const { openSessionLog } = await import(module)
const log = await openSessionLog(project, session, { syncDelayMs: 5 })
const acknowledge = numbers => writeSync(1, numbers.map(n => `${n}\n`).join(''))

const numbered = n => ({
  type: 'status',
  sessionId: session,
  status: 'notice',
  level: 'info',
  message: 'x'.repeat((n * 7919) % 5000),
  data: { n },
})

void (async () => {
  for await (const batch of log.subscribe(log.lastSeq)) {
    acknowledge(batch.map(({ event }) => event.data.n).filter(n => n % 2 === 0))
  }
})()

for (let n = Number(first); ; ) {
  const written = []
  for (let burst = 1 + ((n * 31) % 60); burst > 0; burst -= 1) {
    log.append(numbered(n), { turnId: 'turn-1', durable: n % 17 === 0 })
    if (n % 2 === 1) written.push(n)
    n += 1
  }
  await log.flush()
  acknowledge(written)
}
