import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PolicyBook } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

describe('chirality run', () => {
  test.each(['messages-api', 'agent-sdk'])(
    '--harness %s runs a turn, and the session keeps it',
    async harness => {
      const { run } = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
      const first = await run(['run', 'Remember 42', '--json', '--harness', harness])
      expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
      const envelopes = jsonLines(first.stdout)
      const events = envelopes.map(({ event }) => event)
      expect(events.find(({ type }) => type === 'session:init')).toMatchObject({ harness })
      expect(events.find(({ type }) => type === 'chat:message')).toMatchObject({ text: 'Noted: 42.' })
      expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])

      const session = envelopes[0]?.event.sessionId ?? ''
      const second = await run(['run', 'Which?', '--session', session])
      expect({ code: second.code, stderr: second.stderr }).toEqual({ code: 0, stderr: '' })
      expect(second.stdout).toContain('It was 42.')
    },
  )

  test('a policy file with an error is named before the answer, and a call that it leaves open is denied for it', async () => {
    const answers = [{ tool: 'bash', input: { command: 'touch made' } }, 'Done.']
    const { run, home, project } = await createWorld({ answers })
    const data = path.join(home, 'data')
    const { project: own } = new PolicyBook({ home: data }).places(project)
    mkdirSync(path.dirname(own), { recursive: true })
    writeFileSync(own, 'allow Bash(touch *)\nalow Read\n', { mode: 0o600 })
    const args = ['run', 'Go', '--harness', 'messages-api', '--permission-mode', 'default']
    const { stdout } = await run(args, { env: { CHIRALITY_HOME: data } })
    const problem = `No rule allows anything while a policy has an error: ${own}:2: `
    const [notice, asked, denied] = [problem, '? bash asks for permission', 'nobody is there to ask'].map(
      text => stdout.indexOf(text),
    )
    expect(notice).toBeGreaterThanOrEqual(0)
    expect(asked).toBeGreaterThan(notice ?? 0)
    expect(denied).toBeGreaterThan(asked ?? 0)
    expect(stdout).toContain('always: allow bash(touch made)')
  })

  test('--fail-on-denial: a denial ends the run with 1 and says what was denied; without it the agent goes on', async () => {
    const denied = { tool: 'bash', input: { command: 'touch made' } }
    const { run } = await createWorld({ answers: [denied, 'Went on.', denied], otherwise: 'Went on.' })
    const args = ['run', 'Go', '--harness', 'messages-api']
    expect(await run(args)).toMatchObject({ code: 0, stderr: '' })
    const { code, stderr } = await run([...args, '--fail-on-denial'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^chirality: Stopped, because something was denied: .*bash.*\n$/),
    })
  })
})
