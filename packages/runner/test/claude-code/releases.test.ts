import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { collect, ofType } from './support/events.ts'
import { useWorld } from './support/world.ts'

// Small programs that stand in for releases which are not installed here.
const world = useWorld()
const RESULT = { type: 'result', subtype: 'success', is_error: false, result: 'Hi.', session_id: 'n1' }
const INIT = { type: 'system', subtype: 'init', session_id: 'n1' }
const asked = () => readFileSync(path.join(world.root, 'asked'), 'utf8')

/** Says its version, and does the rest for a turn. */
function release(version: string, turn: string): string {
  const file = path.join(world.root, 'claude')
  const says = `--version) echo '${version} (Claude Code)'; exit;; --help) exit;;`
  const asked = `echo "$@" >> '${path.join(world.root, 'asked')}'`
  writeFileSync(file, `#!/bin/sh\ncase "$1" in ${says} esac\n${asked}\n${turn}\n`)
  chmodSync(file, 0o755)
  return file
}

const ANSWERS = `cat > /dev/null; printf '%s\\n' '${JSON.stringify(INIT)}' '${JSON.stringify(RESULT)}'`
const USAGE = `echo "error: unknown option '--telepathy'" >&2; exit 1`
const kinds = [false, true].map(keepAlive => ({ keepAlive }))

describe.each(kinds)('a release of Claude Code, kept: $keepAlive', ({ keepAlive }) => {
  test('that is too old is not given the message: version, what it lacks and the remedy are said', async () => {
    const harness = world.harness(release('1.0.128', ANSWERS), { keepAlive })
    world.atEnd(() => harness.close())
    await expect(collect(harness.startTurn(world.session(), 'Hi'))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/^Claude Code 1\.0\.128 is too old: .*`npm install -g @anthropic-ai/),
    })
    expect(asked).toThrow('ENOENT')
  })

  test('that does not know a flag has not crashed, and says what to do', async () => {
    const harness = world.harness(release('2.1.400', USAGE), { keepAlive })
    world.atEnd(() => harness.close())
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(ofType(events, 'session:error')).toMatchObject([
      {
        code: 'unsupported',
        error: expect.stringMatching(/unknown option '--telepathy'\. Update it with `npm/),
      },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'failed' }])
    expect(asked().trim().split('\n')).toHaveLength(1)
  })
})

test('a query with a flag that the release does not know is unsupported', async () => {
  const events = await collect(world.harness(release('2.1.400', USAGE)).query(world.query()))
  expect(events.at(-1)).toMatchObject({ type: 'error', code: 'unsupported' })
})

test('an untested release causes one notice, in the first turn of a session', async () => {
  const harness = world.harness(release('2.9.0', ANSWERS))
  const session = world.session()
  const told = async () =>
    ofType(await collect(harness.startTurn(session, 'Hi')), 'status').filter(({ level }) => level === 'info')
  expect(await told()).toMatchObject([
    {
      status: 'notice',
      message: expect.stringMatching(/^Claude Code 2\.9\.0 is newer than the tested versions \(/),
      data: { kind: 'version', support: 'newer' },
    },
  ])
  session.claudeSessionId = 'n1'
  expect(await told()).toEqual([])
})

test('a limit that an old release reports without is_error ends the turn as that', async () => {
  const limit = { ...RESULT, subtype: 'error_max_turns', result: undefined }
  const turn = ANSWERS.replace(JSON.stringify(RESULT), JSON.stringify(limit))
  const events = await collect(world.harness(release('2.1.86', turn)).startTurn(world.session(), 'Hi'))
  expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'max_turns' }])
})
