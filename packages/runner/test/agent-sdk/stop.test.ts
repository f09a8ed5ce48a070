import path from 'node:path'
import { claudeEnv } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { AgentSdkHarness } from '../../src/agent-sdk/harness.ts'
import { findByMarker, MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { collect, fileAppears, ofType } from '../support/turns.ts'
import { NOWHERE, PATIENT, PATIENT_MS, useBareWorld } from '../support/world.ts'
import { fakeSdk } from './support/fake-sdk.ts'

const world = useBareWorld('agent-sdk')

const WAYS = [
  { how: 'interrupt', reason: 'interrupted' },
  { how: 'kill', reason: 'killed' },
] as const

/** Where an SDK can hang. `hangs` tells that it does. */
const PLACES = [
  { place: 'while it is loaded', source: 'hangs(); await new Promise(() => {}); export function query() {}' },
  { place: 'in a loop, while it is loaded', source: 'hangs(); for (;;); export function query() {}' },
  {
    place: 'before it starts its agent',
    source: 'export async function* query() { hangs(); await new Promise(() => {}) }',
  },
  {
    place: 'in a loop, before it starts its agent',
    source: 'export function query() { hangs(); for (;;); }',
  },
  {
    place: 'in a loop, just after it asked for its agent',
    source: `export function query({ options: { env, cwd, spawnClaudeCodeProcess } }) {
      spawnClaudeCodeProcess({ command: '/bin/sleep', args: ['600'], cwd, env })
      hangs()
      for (;;);
    }`,
  },
]

/** All time limits are those of a patient world: what waits for one of them fails by the test's own. */
function start(source: string) {
  const hanging = path.join(world.root, 'hangs')
  const told = `import { writeFileSync } from 'node:fs'; const hangs = () => writeFileSync('${hanging}', '');`
  const harness = new AgentSdkHarness({
    binaryPath: '/bin/sleep',
    sdkPath: fakeSdk(world.root, `${told}\n${source}`),
    startLimitMs: PATIENT_MS,
    // For an agent that runs and heeds no interrupt; none of the others has one.
    stop: { ...PATIENT, interruptGraceMs: 1 },
    environment: { ...claudeEnv({ url: NOWHERE }, world.home), [MARKER_VARIABLE]: world.marker },
  })
  world.atEnd(() => harness.close())
  return { harness, session: world.session(), hangs: () => fileAppears(hanging) }
}

describe.each(PLACES)('an SDK that hangs $place', ({ source }) => {
  test.each(WAYS)('$how ends the turn, the thread and every process', async row => {
    const { harness, session, hangs } = start(source)
    const reading = collect(harness.startTurn(session, 'Go'))
    await hangs()
    await harness[row.how](session.id)
    const events = await reading
    expect(events[0]).toMatchObject({ type: 'turn:start' })
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'interrupted' }])
    expect(events.find(({ type }) => type === 'turn:end')).toMatchObject({ reason: row.reason })
    expect(harness.isRunning(session.id)).toBe(false)
    expect(await findByMarker(world.marker)).toEqual([])
  })

  test('an aborted query ends', async () => {
    const { harness, hangs } = start(source)
    const leaving = new AbortController()
    const reading = collect(harness.query(world.query({ signal: leaving.signal })))
    await hangs()
    leaving.abort()
    expect(await reading).toEqual([])
    expect(await findByMarker(world.marker)).toEqual([])
  })
})

test.each(PLACES.slice(0, 4))('close ends the start of an agent ahead: hangs $place', async ({ source }) => {
  const { harness, session, hangs } = start(source)
  const prewarming = expect(harness.prewarm(session)).rejects.toMatchObject({ code: 'aborted' })
  await hangs()
  await harness.close()
  await prewarming
  expect(await findByMarker(world.marker)).toEqual([])
})

test.each(WAYS)('$how ends a turn that waits for an agent that is started ahead', async row => {
  const { harness, session, hangs } = start(PLACES[2]?.source ?? '')
  const prewarming = harness.prewarm(session)
  await hangs()
  const reading = collect(harness.startTurn(session, 'Go'))
  await harness[row.how](session.id)
  expect((await reading).find(({ type }) => type === 'turn:end')).toMatchObject({ reason: row.reason })
  await prewarming
})
