import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { type AgentBinary, claudeVersions } from '@chirality/fixtures'
import { claudeEnv, type Script, type ScriptedModel } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { bodies, collect, ofType } from '../claude-code/support/events.ts'
import { useBareWorld } from '../support/world.ts'
import { contents, folded, plainRun, told, types } from './support.ts'

const world = useBareWorld('claude-code')
const BOTH_TOOLS = [
  { blocks: [{ text: 'I look.' }, bash('echo one'), bash('echo two; exit 3')] },
  'Noted: 42.',
  'And 43.',
  'It was 42.',
]

function bash(command: string) {
  return { tool: 'Bash', input: { command } }
}

describe.each(claudeVersions())('a conversation of plain Claude Code $version', binary => {
  test('is listed, read and continued', async () => {
    const { model, harness, claude } = await start(binary, { answers: BOTH_TOOLS })
    const id = await claude('Remember 42')
    expect(await claude('And 43', '--resume', id)).toBe(id)
    const before = contents(path.join(world.home, '.claude'))

    const sessions = await harness.listNativeSessions({ cwd: world.project })
    expect(sessions).toMatchObject([
      { harness: 'claude-code', nativeSessionId: id, cwd: world.project, title: 'Remember 42' },
    ])
    const imported = await harness.importSession(id, world.project)
    expect(contents(path.join(world.home, '.claude'))).toEqual(before)

    expect(imported.session).toMatchObject({ projectRoot: world.project, claudeSessionId: id })
    const state = folded(imported)
    expect(state).toMatchObject({ phase: 'idle', driftCount: 0, agent: { version: binary.version } })
    expect(state.turns.map(({ reason }) => reason)).toEqual(['completed', 'completed'])
    expect(told(state)).toEqual([
      '> Remember 42',
      'text: I look.',
      'Bash done: one',
      'Bash failed: Exit code 3\ntwo',
      'text: Noted: 42.',
      '> And 43',
      'text: And 43.',
    ])

    const turn = await collect(harness.startTurn(imported.session, 'Which number?'))
    expect(ofType(turn, 'chat:complete')).toMatchObject([{ text: 'It was 42.' }])
    const conversation = JSON.stringify(bodies(model).at(-1)?.messages)
    for (const text of ['Remember 42', 'Noted: 42.', 'And 43', 'Which number?'])
      expect(conversation).toContain(text)
  })

  test('that the API refused ends as failed', async () => {
    const { harness, claude } = await start(binary, { otherwise: { error: 400 } })
    await expect(claude('Hi')).rejects.toThrow()
    const [session] = await harness.listNativeSessions()
    const state = folded(await harness.importSession(session?.nativeSessionId ?? ''))
    expect(state.turns).toMatchObject([{ reason: 'failed' }])
    expect(told(state)).toEqual(['> Hi', 'invalid_request: API Error: 400 The request is not valid.'])
  })

  test('is found in a folder with a long name, and through a link', async () => {
    const deep = path.join(world.project, 'a_long.näme '.repeat(9), 'b'.repeat(120))
    mkdirSync(deep, { recursive: true })
    symlinkSync(deep, path.join(world.root, 'link'))
    const { harness, claude } = await start(binary, { otherwise: 'ok' }, deep)
    const id = await claude('Hi')
    for (const cwd of [deep, path.join(world.root, 'link')]) {
      expect(await harness.listNativeSessions({ cwd })).toMatchObject([{ nativeSessionId: id, cwd: deep }])
    }
    expect(await harness.listNativeSessions({ cwd: world.project })).toEqual([])
    const { session } = await harness.importSession(id, world.project)
    expect(session.projectRoot).toBe(deep)
  })

  test('with a summary keeps what was said before it', async () => {
    const { harness, claude } = await start(binary, { otherwise: 'A long answer.' })
    const id = await claude('Remember 42')
    await claude('And 43', '--resume', id)
    await claude('/compact', '--resume', id)
    await claude('Go on', '--resume', id)
    const imported = await harness.importSession(id)
    const lines = told(folded(imported))
    const asked = ['> Remember 42', '> And 43', '> /compact', '> Go on']
    expect(lines.filter(line => line.startsWith('> '))).toEqual(asked)
    expect(lines).toContainEqual(expect.stringMatching(/^compacted: /))
    expect(lines.join('\n')).not.toContain('Summary:')
    expect(types(imported.envelopes).filter(type => type === 'turn:end')).toHaveLength(asked.length)
  })
})

async function start(binary: AgentBinary, script: Script, cwd = world.project) {
  const model: ScriptedModel = await world.model(script)
  const environment = {
    ...claudeEnv(model, world.home),
    [MARKER_VARIABLE]: world.marker,
    CLAUDE_CODE_MAX_RETRIES: '0',
  }
  const harness = new ClaudeCodeHarness({ binaryPath: binary.path, environment, keepAlive: false })
  const claude = async (input: string, ...args: string[]): Promise<string> => {
    const flags = ['-p', '--output-format', 'json', '--allowedTools', 'Bash', ...args]
    const answer = JSON.parse(await plainRun(binary.path, flags, { cwd, env: environment, input }))
    return answer.session_id
  }
  return { model, harness, claude }
}
