import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { NativeSession } from '@chirality/core'
import { initialSessionState, reduceSession } from '@chirality/core'
import { type StoredSession, userDataFolder } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { findMarked } from './support/processes.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** An agent of the Agent Client Protocol that keeps one conversation. */
const KEEPER = path.resolve('../../packages/runner/test/programs/fake-acp-keeper.mjs')

/** Conversations of both agents that no session of ours knows of. */
async function worldWithBoth() {
  const world = await createWorld({ answers: ['Noted: 42.', 'Noted: 43.', 'It is known.'] })
  const ask = async (...args: string[]) => UUID.exec((await world.run(['run', ...args])).stdout)?.[0] ?? ''
  const ids = { claude: await ask('Remember 42'), codex: await ask('Remember 43', '--harness', 'codex') }
  rmSync(path.join(world.project, '.chirality'), { recursive: true })
  rmSync(userDataFolder(world.env), { recursive: true })
  return { ...world, ...ids }
}

describe('chirality sessions', () => {
  test('conversations of an agent that was added are listed and taken over; one that fails hides no other', async () => {
    const world = await createWorld({})
    const add = (name: string, ...command: string[]) =>
      world.run(['agents', 'add', name, '--env', 'FAKE_FOLDER', '--', ...command])
    await add('keeper', process.execPath, KEEPER)
    await add('broken', 'false')
    const options = { env: { FAKE_FOLDER: world.project } }
    const listed = await world.run(['sessions', 'list', '--native', '--json'], options)
    expect(listed.code).toBe(0)
    expect(jsonLines(listed.stdout)).toMatchObject([{ harness: 'acp-keeper', nativeSessionId: 'one' }])
    expect(listed.stderr).toContain('broken (')
    const failed = await world.run(['sessions', 'import', '--harness', 'acp-broken'], options)
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    const taken = await world.run(['sessions', 'import', 'one'], options)
    expect(taken.stdout).toContain('> Hi')
    expect(taken.stdout).toContain('Hello.')
    expect(taken).toMatchObject({ code: 0, stderr: '' })
    expect(await world.run(['sessions', 'import', 'one'], options)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('is already here') },
    })
    expect(await world.run(['sessions', 'import', 'two', '--harness', 'acp-keeper'], options)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('no conversation two') },
    })
  })

  test.each([
    ['SIGINT', ['list', '--native']],
    ['SIGTERM', ['import']],
    ['SIGHUP', ['import', 'one']],
  ] as const)('%s ends the agents that %j asks, also one that ignores it', async (signal, args) => {
    const world = await createWorld({})
    const names = ['--env', 'FAKE_FOLDER,FAKE_ACP']
    await world.run(['agents', 'add', 'keeper', ...names, '--', process.execPath, KEEPER])
    const command = world.start(['sessions', ...args], {
      env: { FAKE_FOLDER: world.project, FAKE_ACP: 'deaf' },
    })
    await expect.poll(() => existsSync(path.join(world.home, 'is-asked')), { timeout: 20_000 }).toBe(true)
    command.signal(signal)
    command.signal(signal)
    expect(await command.result()).toMatchObject({ code: 130, stdout: '' })
    expect(findMarked(world.env.CHIRALITY_RUN ?? '')).toEqual([])
  })

  test('list --native and import list the conversations of all agents, newest first', async () => {
    const { run, project, claude, codex } = await worldWithBoth()
    for (const args of [['list', '--native'], ['import']]) {
      const { code, stdout, stderr } = await run(['sessions', ...args, '--json'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const listed = jsonLines<NativeSession>(stdout)
      const times = listed.map(({ updatedAt }) => updatedAt)
      expect(times).toEqual([...times].sort().reverse())
      // Codex tells only the second: of two in the same one either may be the newer.
      expect(listed.sort((a, b) => a.harness.localeCompare(b.harness))).toMatchObject([
        { harness: 'claude-code', nativeSessionId: claude, cwd: project, title: 'Remember 42' },
        { harness: 'codex', nativeSessionId: codex, cwd: project, title: 'Remember 43' },
      ])
      const text = await run(['sessions', ...args, '--harness', 'claude-code'])
      expect(text.stdout).toMatch(
        new RegExp(`^${claude}  claude-code  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  Remember 42\n$`),
      )
    }

    // Those of the Agent SDK are those of Claude Code, which is said.
    const { code, stdout, stderr } = await run([
      'sessions',
      'list',
      '--native',
      '--harness',
      'agent-sdk',
      '--json',
    ])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'chirality: The Claude Agent SDK keeps its conversations with those of Claude Code.\n',
    })
    expect(jsonLines(stdout)).toMatchObject([{ harness: 'claude-code', nativeSessionId: claude }])
  })

  test.each([
    { args: ['list', '--native'], code: 0 },
    { args: ['import'], code: 0 },
    { args: ['import', randomUUID()], code: 2 },
  ])('$args of messages-api: it keeps none, and where to look is said', async ({ args, code }) => {
    const { run } = await createWorld()
    const result = await run(['sessions', ...args, '--harness', 'messages-api'])
    expect(result).toMatchObject({ code, stdout: '' })
    expect(result.stderr).toContain(
      'chirality: Messages API keeps no conversations but those of Chirality. See `chirality sessions list`.\n',
    )
  })

  test('a folder without conversations has none', async () => {
    const { run, home } = await createWorld()
    const empty = path.join(home, 'empty')
    mkdirSync(empty)
    const { code, stdout, stderr } = await run(['sessions', 'import', '--project', empty])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(`chirality: No agent has a conversation in ${empty}.\n`)
  })

  test.each([
    ['claude-code', '42'],
    ['codex', '43'],
  ] as const)('import takes a conversation of %s over, once, and it can go on', async (harness, number) => {
    const { run, model, ...world } = await worldWithBoth()
    const native = harness === 'codex' ? world.codex : world.claude
    const { code, stdout, stderr } = await run(['sessions', 'import', native])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const id = /Imported as (\S+)\.\n/.exec(stdout)?.[1] ?? ''
    const command = `chirality run --session ${id}`
    expect(stdout.split('\n')).toEqual([
      ...['', `> Remember ${number}`, expect.stringContaining(`session ${native}`), `Noted: ${number}.`],
      ...['', `Imported as ${id}.`, `Continue with: ${command} "…"`, ''],
    ])
    expect(await run(['sessions', 'import', native])).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: `chirality: The conversation ${native} is already here, as session ${id}.\n`,
    })
    const [, ...words] = command.split(' ')
    expect(await run([...words, 'Go on'])).toMatchObject({ code: 0 })
    const conversation = JSON.stringify(model.requests.at(-1)?.body)
    expect(conversation).toContain(`Remember ${number}`)
    expect(conversation).toContain(`Noted: ${number}.`)
    const replayed = await run(['replay', id, '--speed', 'max', '--json'])
    expect(jsonLines(replayed.stdout).filter(({ event }) => event.type === 'turn:start')).toHaveLength(2)
  })

  test('import --json prints the session, whose log folds into the conversation', async () => {
    const { run, codex } = await worldWithBoth()
    const { code, stdout, stderr } = await run(['sessions', 'import', codex, '--json', '--harness', 'codex'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [session] = jsonLines<StoredSession>(stdout)
    expect(session).toMatchObject({ claudeSessionId: codex, harness: 'codex', title: 'Remember 43' })
    const envelopes = jsonLines((await run(['replay', session?.id ?? '', '--json', '--speed', 'max'])).stdout)
    const state = reduceSession(initialSessionState(session?.id ?? ''), envelopes)
    expect(state.items).toMatchObject([
      { kind: 'user', text: 'Remember 43' },
      { kind: 'text', text: 'Noted: 43.' },
    ])
  })

  test('import finds a conversation of another folder and names the folder', async () => {
    const { run, project, claude } = await worldWithBoth()
    const { stdout } = await run(['sessions', 'import', claude], { cwd: '/' })
    expect(stdout).toMatch(
      new RegExp(`Continue with: chirality run --session ${UUID.source} --project ${project} "…"\n$`),
    )
  })

  test('an id that no agent has ends with 1', async () => {
    const { run } = await createWorld()
    const id = randomUUID()
    expect(await run(['sessions', 'import', id])).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `chirality: There is no conversation ${id} of claude-code or codex. See \`chirality sessions import\`.\n`,
    })
    const one = await run(['sessions', 'import', id, '--harness', 'codex'])
    expect(one.stderr).toContain(`There is no conversation ${id} of codex.`)
  })

  test.each([
    [['import', 'a', 'b'], 'Unexpected argument "b".'],
    [
      ['import', '--harness', 'x'],
      '--harness must be one of claude-code, codex, agent-sdk, messages-api, not "x".',
    ],
    [
      ['import', '--project', '/no/folder'],
      'The project folder /no/folder does not exist. Name an existing one with --project.',
    ],
  ])('refuses %j', async (args, message) => {
    const { run } = await createWorld()
    const stderr = `chirality: ${message}\nSee \`chirality --help\`.\n`
    expect(await run(['sessions', ...args])).toEqual({ code: 2, signal: null, stdout: '', stderr })
  })

  test('an invalid id exits with 2', async () => {
    const { run } = await createWorld()
    const { code, stderr } = await run(['sessions', 'import', '../x'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'chirality: "../x" is not the id of a conversation (a UUID).\n',
    })
  })
})
