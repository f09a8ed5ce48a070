import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { lockProject } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { asked } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { stored, storeOf } from './support/stored.ts'
import { createWorld, program } from './support/world.ts'

function usage(message: string) {
  return { code: 2, signal: null, stdout: '', stderr: `chirality: ${message}\nSee \`chirality --help\`.\n` }
}

describe('the session of a run', () => {
  test('is kept, and --json prints its log, numbers and all', async () => {
    const world = await createWorld({ answers: ['One.', 'Two.'] })
    const first = jsonLines((await world.run(['run', 'First?', '--json'])).stdout)
    const id = first[0]?.sessionId ?? ''
    expect(await storeOf(world).get(id)).toMatchObject({
      ...{ title: 'First?', harness: 'claude-code', turnCount: 1, status: 'idle', lastTurn: 'completed' },
      ...{ claudeSessionId: id, lastSeq: first.length },
    })
    const second = jsonLines(
      (await world.run(['run', 'Second?', '--json', '--session', id.slice(0, 8)])).stdout,
    )
    expect(second[0]).toMatchObject({ seq: first.length + 1, sessionId: id, event: { message: 'Second?' } })
    expect(JSON.stringify(asked(world.model)[1]?.messages)).toContain('First?')
    const all = jsonLines((await world.run(['replay', id, '--json', '--speed', 'max'])).stdout)
    expect(all).toEqual([...first, ...second])
  })

  test('goes on from anywhere, in its own project', async () => {
    const world = await createWorld({
      answers: ['One.', { tool: 'Bash', input: { command: 'pwd' } }, 'There.'],
    })
    const [first] = jsonLines((await world.run(['run', 'First?', '--json'])).stdout)
    const args = ['run', 'Where?', '--session', first?.sessionId ?? '', '--allow', 'Bash(pwd)']
    expect((await world.run(args, { cwd: '/' })).stdout).toContain(`  ✓ ${world.project}\n`)
  })

  test('a fork goes on with what was said, and leaves the original alone', async () => {
    const world = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
    const [first] = jsonLines((await world.run(['run', 'Remember 42', '--json'])).stdout)
    const id = first?.sessionId ?? ''
    const fork = (await world.run(['sessions', 'fork', id])).stdout.split('\n')[0] ?? ''
    const { code } = await world.run(['run', 'Which?', '--session', fork])
    expect(code).toBe(0)
    expect(JSON.stringify(asked(world.model)[1]?.messages)).toContain('Remember 42')
    const [original, copy] = await Promise.all([id, fork].map(each => storeOf(world).get(each)))
    expect(original).toMatchObject({ turnCount: 1, claudeSessionId: id })
    expect(copy?.claudeSessionId).not.toBe(id)
  })

  test('options that contradict the session are refused', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'Birds')
    const refused = (option: string, has: string) =>
      usage(`--${option} does not fit: session ${id} has ${has}. Leave it out, or begin another session.`)
    const run = (...args: string[]) => world.run(['run', 'Hi', '--session', id, ...args])
    expect(await run('--harness', 'codex')).toEqual(refused('harness', 'claude-code'))
    expect(await run('--persona', 'X')).toEqual(refused('persona', 'none'))
    expect(await run('--mode', 'pipeline')).toEqual(refused('mode', 'direct'))
    expect(await run('--project', world.home)).toEqual(refused('project', world.project))
  })

  test('an id that is neither ours nor an agent’s ends with 1', async () => {
    const { run } = await createWorld()
    const { code, stderr } = await run(['run', 'Hi', '--session', 'nobody'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'chirality: There is no session "nobody". See `chirality sessions list --all`.\n',
    })
  })

  test('a project that another process has is left to it', async () => {
    const world = await createWorld()
    const lock = await lockProject(world.project, { address: 'http://127.0.0.1:4096' })
    const { code, stdout, stderr } = await world.run(['run', 'Hi'])
    await lock.release()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`${world.project} is in use by the server at http://127.0.0.1:4096`)
    expect(asked(world.model)).toEqual([])
    expect(await storeOf(world).list(world.project)).toEqual([])
  })
})

describe('--persona and --mode', () => {
  const REVIEWER = '---\ntools: Read\nmax_turns: 7\nmodel: haiku\n---\nBe strict about herons.\n'

  async function worldWithPersona() {
    const world = await createWorld()
    mkdirSync(path.join(world.project, 'agents'))
    writeFileSync(path.join(world.project, 'agents/AGENT_REVIEWER.md'), REVIEWER)
    return world
  }

  test('the agent gets the system prompt and the tools of the persona', async () => {
    const world = await worldWithPersona()
    const args = ['run', 'Review', '--persona', 'REVIEWER', '--mode', 'pipeline', '--json']
    const { code, stdout } = await world.run(args)
    expect(code).toBe(0)
    const [request] = asked(world.model)
    const init = jsonLines(stdout).find(({ event }) => event.type === 'session:init')
    expect(init?.event).toMatchObject({ tools: ['Read'] })
    expect(request?.model).toMatch(/haiku/)
    expect(JSON.stringify(request)).toContain('Be strict about herons.')
    const id = jsonLines(stdout)[0]?.sessionId ?? ''
    expect(await storeOf(world).get(id)).toMatchObject({ persona: 'REVIEWER', mode: 'pipeline' })
    const prompt = readFileSync(path.join(world.project, '.chirality/prompts', `${id}-system.txt`), 'utf8')
    expect(prompt).toContain('Mode: pipeline')
  })

  test('an option of the command overrides the persona', async () => {
    const world = await worldWithPersona()
    const args = ['run', 'Review', '--persona', 'REVIEWER', '--max-turns', '3', '--model', 'opus']
    const { code } = await world.run(args, {
      env: { CHIRALITY_CLAUDE_BIN: program('records-invocation.mjs') },
    })
    expect(code).toBe(0)
    const { args: flags } = JSON.parse(readFileSync(path.join(world.home, 'invocation.json'), 'utf8'))
    const after = (flag: string) => flags[flags.indexOf(flag) + 1]
    expect([after('--max-turns'), after('--model'), after('--tools')]).toEqual(['3', 'opus', 'Read'])
  })

  test('one that is missing or broken is refused before anything is spent', async () => {
    const world = await worldWithPersona()
    writeFileSync(path.join(world.project, 'agents/AGENT_BROKEN.md'), '---\ntool: Read\n---\n')
    expect(await world.run(['run', 'Hi', '--persona', 'REVEIWER'])).toEqual(
      usage(`There is no persona "REVEIWER" in ${world.project}. It has REVIEWER. Did you mean REVIEWER?`),
    )
    const broken = await world.run(['run', 'Hi', '--persona', 'BROKEN'])
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('AGENT_BROKEN.md:2: ') })
    expect(asked(world.model)).toEqual([])
  })
})
