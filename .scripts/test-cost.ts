import { appendFileSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect } from 'vitest'

/**
 * What each file of tests costs, for `CHIRALITY_TEST_COST=<file>`: seconds of processor of the worker and of the programs
 * that it started, and seconds of the clock. Wall time alone says nothing on a machine that does other things, too.
 * Programs that another one outlives are not included.
 */
const began = { at: performance.now(), ...used() }

afterAll(() => {
  const ended = used()
  const file = path.relative(path.resolve(import.meta.dirname, '..'), expect.getState().testPath ?? '')
  const cost = {
    file,
    own: rounded(ended.own - began.own),
    children: rounded(ended.children - began.children),
    wall: rounded((performance.now() - began.at) / 1000),
  }
  appendFileSync(process.env.CHIRALITY_TEST_COST as string, `${JSON.stringify(cost)}\n`)
})

/** Linux counts what ended children used in the hundredths of a second of their parent. */
function used(): { own: number; children: number } {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  const seconds = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / 100
  return { own: seconds(11), children: seconds(13) }
}

function rounded(seconds: number): number {
  return Math.round(seconds * 100) / 100
}
