import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { codexBinary } from '@chirality/fixtures'
import { codexArgs, type Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { CodexHarness } from '../../src/codex/harness.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { untilUnmarked } from '../support/programs.ts'
import { collect, ofType } from '../support/turns.ts'
import { useBareWorld } from '../support/world.ts'
import { contents, folded, plainRun, told } from './support.ts'

const world = useBareWorld('codex')
const PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\nEOF"
const ANSWERS = [
  { thinking: '**Looking**', text: 'I look.', ...command("echo 'one'") },
  command(PATCH),
  command('exit 3'),
  'Noted: 42.',
  'It was 42.',
]

function command(cmd: string) {
  return { tool: 'exec_command', input: { cmd } }
}

describe.each(['app-server', 'exec'] as const)('a thread of plain Codex, with %s', voice => {
  test('is listed, read and continued', async () => {
    const { model, harness, codex, sessions } = await start({ answers: ANSWERS }, voice)
    const id = await codex('Remember 42', 'exec')
    const before = contents(sessions)

    expect(await harness.listNativeSessions({ cwd: world.project })).toMatchObject([
      { harness: 'codex', nativeSessionId: id, cwd: world.project, title: 'Remember 42' },
    ])
    const imported = await harness.importSession(id)
    expect(contents(sessions)).toEqual(before)

    expect(imported.session).toMatchObject({ projectRoot: world.project, claudeSessionId: id })
    const state = folded(imported)
    expect(state).toMatchObject({
      phase: 'idle',
      driftCount: 0,
      agent: { model: 'gpt-5.5', version: '0.166.0' },
    })
    expect(state.turns.map(({ reason }) => reason)).toEqual(['completed'])
    expect(told(state)).toEqual([
      '> Remember 42',
      'thinking: **Looking**',
      'text: I look.',
      'command done: one',
      `file_change done: add ${world.project}/new.txt`,
      'command failed: Exit code 3',
      'text: Noted: 42.',
    ])

    const turn = await collect(harness.startTurn(imported.session, 'Which number?'))
    expect(ofType(turn, 'chat:complete')).toMatchObject([{ text: 'It was 42.' }])
    const conversation = JSON.stringify(model.requests.at(-1)?.body)
    for (const text of ['Remember 42', 'Noted: 42.', 'Which number?']) expect(conversation).toContain(text)
  })

  test('that was forked has what came before the fork, and nothing that came after', async () => {
    const { harness, codex } = await start({ otherwise: 'ok' }, voice)
    const parent = await codex('Before', 'exec')
    const fork = await codex('In the fork', 'exec', 'fork', parent)
    await codex('After', 'exec', 'resume', parent)
    expect(fork).not.toBe(parent)
    const asked = async (id: string) =>
      told(folded(await harness.importSession(id))).filter(line => /^>/.test(line))
    expect(await asked(fork)).toEqual(['> Before', '> In the fork'])
    expect(await asked(parent)).toEqual(['> Before', '> After'])
  })

  test('a failed thread reports its error', async () => {
    const { harness, codex } = await start({ otherwise: { error: 400 } }, voice)
    await expect(codex('Hi', 'exec')).rejects.toThrow()
    const [session] = await harness.listNativeSessions()
    const state = folded(await harness.importSession(session?.nativeSessionId ?? ''))
    expect(state.turns).toMatchObject([{ reason: 'failed' }])
    expect(told(state)).toEqual(['> Hi', 'invalid_request: The request is not valid.'])
  })

  test('is found through a link to its folder', async () => {
    const { harness, codex } = await start({ otherwise: 'ok' }, voice)
    const id = await codex('Hi', 'exec')
    symlinkSync(world.project, path.join(world.root, 'link'))
    const cwd = path.join(world.root, 'link')
    expect(await harness.listNativeSessions({ cwd })).toMatchObject([{ nativeSessionId: id }])
    expect(await harness.listNativeSessions({ cwd: world.root })).toEqual([])
  })

  test('that does not exist is not found', async () => {
    const { harness } = await start({ otherwise: 'ok' }, voice)
    const missing = harness.importSession('01a1e1b8-feba-7fe0-962c-70d7f37dbdcf')
    await expect(missing).rejects.toMatchObject({ code: 'session_not_found', harnessId: 'codex' })
    await expect(harness.importSession('last')).rejects.toMatchObject({ code: 'invalid_query' })
  })
})

test('without an app-server the files do', async () => {
  const { harness, codex } = await start({ otherwise: 'ok' }, undefined)
  const id = await codex('Hi', 'exec')
  const asked = await harness.importSession(id)
  const noBinary = new CodexHarness({
    binaryPath: path.join(world.root, 'none'),
    environment: { HOME: world.home, TMPDIR: world.temporary },
  })
  expect(await noBinary.listNativeSessions()).toMatchObject([{ nativeSessionId: id, title: 'Hi' }])
  expect(told(folded(await noBinary.importSession(id)))).toEqual(told(folded(asked)))
})

test('a thread that the index of Codex has lost is read from its file', async () => {
  const { harness, codex, sessions } = await start({ otherwise: 'ok' }, 'app-server')
  const id = await codex('Hi', 'exec')
  const home = path.dirname(sessions)
  const indexes = readdirSync(home).filter(name => name.includes('.sqlite'))
  expect(indexes).not.toEqual([])
  for (const name of indexes) rmSync(path.join(home, name))
  expect(await harness.listNativeSessions()).toMatchObject([{ nativeSessionId: id }])
  expect(told(folded(await harness.importSession(id)))).toEqual(['> Hi', 'text: ok'])
})

async function start(script: Script, voice: 'app-server' | 'exec' | undefined) {
  const model = await world.model(script)
  const home = path.join(world.home, '.codex')
  mkdirSync(home, { recursive: true })
  const { args, env } = codexArgs(model)
  const environment = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: world.home,
    TMPDIR: world.temporary,
    [MARKER_VARIABLE]: world.marker,
    ...env,
  }
  const overrides = [
    ...args.filter(arg => arg !== '-c'),
    'model="gpt-5.5"',
    'check_for_update_on_startup=false',
  ]
  const harness = new CodexHarness({
    binaryPath: codexBinary().path,
    environment,
    allowEnvironment: Object.keys(env),
    configOverrides: overrides,
    ...(voice ? { voice } : {}),
  })
  world.atEnd(() => harness.close())
  const codex = async (input: string, ...words: string[]): Promise<string> => {
    const [command = 'exec', sub, id] = words
    const flags = [
      ...overrides.flatMap(override => ['-c', override]),
      ...['-c', 'sandbox_mode="danger-full-access"', '--json', '--skip-git-repo-check'],
    ]
    const argv = [command, ...(sub ? [sub] : []), ...flags, ...(id ? [id] : []), '-']
    const run = plainRun(codexBinary().path, argv, { cwd: world.project, env: environment, input })
    // A run that ends early may leave the shell that it was asking about its environment, for a moment.
    const output = await run.finally(() => untilUnmarked(world.marker))
    return /"thread_id":"([^"]+)"/.exec(output)?.[1] ?? ''
  }
  return { model, harness, codex, sessions: path.join(home, 'sessions') }
}
