import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { CALLS } from '@chirality/centre'
import { initRepository, ODD_FILES, putOddFile } from '@chirality/fixtures'
import { expect, onTestFailed, test } from 'vitest'
import { createWorld, type World } from './support/agents.ts'
import { procedures } from './support/every-call.ts'
import { startTestServer, type TestServer } from './support/test-server.ts'

/** What a clone or an archive can bring for an agent or for Chirality, beside what Chirality keeps in `.chirality`. */
const BROUGHT: Readonly<Record<string, string>> = {
  'tracked.md': '# Odd\n',
  'README.md': '# Odd\n',
  '.gitignore': '*.log\n',
  '.gitattributes': '* text\n',
  '.mailmap': '',
  'AGENTS.md': 'Be short.\n',
  'CLAUDE.md': 'Be short.\n',
  'TASKS.md': '- [ ] one\n',
  '.mcp.json': '{"mcpServers":{}}',
  '.claude/settings.json': '{}',
  '.codex/config.toml': '',
  'agents/AGENT_ODD.md': '---\ndescription: Odd\n---\nBe odd.\n',
  '.chirality/workspace.yaml': 'setup:\n  - "true"\n',
  '.chirality/loops/odd-1/journal.ndjson': '',
  '.chirality/loops/odd-1/budget.json': '{}',
  '.chirality/loops/odd-1/receipts/one.json': '{}',
  '.chirality/loops/odd-1/receipts/one.md': '',
  '.chirality/loops/odd-1/prompts/one-0.md': '',
  '.chirality/state/turn-trees.json': '{}',
}

const LARGE = 'a file of 1 GB'
/** The large one takes as long as all others together: here it is for `npm run test:all`. */
const KINDS = Object.keys(ODD_FILES).filter(kind => kind !== LARGE || process.env.CHIRALITY_TEST_ALL)

/** What stays as it was, so that the files that are read after these are reached, too. Each is a project. */
const PROJECTS: Readonly<Record<string, RegExp>> = {
  'every file': /^$/,
  'every file but the lock': /^\.chirality\/lock\//,
  'every file but what opens a session': /^\.chirality\/(lock|sessions|events)\//,
}

test('whatever is in the place of a file, the server starts, answers, works for other projects and stops', async () => {
  const world = await createWorld({ answers: Array.from({ length: 500 }, () => 'All is well.') })
  const home = path.join(world.home, 'chirality')
  const odd = Object.entries(PROJECTS).map(([place, stays], i) => ({
    ...{ place, stays, project: `${world.project}-odd-${i}` },
  }))
  const start = () => {
    const projects = [world.project, ...odd.map(({ project }) => project)]
    return startTestServer({ harnesses: world.harnesses(), projects, home })
  }
  const seeded = await seed(
    world,
    odd.map(({ project }) => project),
    start,
  )
  const kept = path.join(world.home, 'kept')
  const folders = [home, ...odd.map(({ project }) => project)]
  for (const [i, folder] of folders.entries()) cpSync(folder, path.join(kept, String(i)), { recursive: true })

  let at = ''
  const open = new Set<string>()
  onTestFailed(() => console.error(at, [...open]))
  const surprises: string[] = []
  for (const kind of KINDS) {
    at = `${kind} in the place of a file`
    for (const [i, folder] of folders.entries()) {
      rmSync(folder, { recursive: true, force: true })
      cpSync(path.join(kept, String(i)), folder, { recursive: true })
    }
    for (const { project, place, stays } of odd) {
      const files = [...filesBelow(project, '.chirality'), ...Object.keys(BROUGHT)]
      // A table of files that the code no longer writes would prove nothing.
      for (const part of ['sessions/', 'events/', 'state/', 'logs/', 'prompts/'])
        expect(files.filter(file => file.startsWith(`.chirality/${part}`))).not.toEqual([])
      // Git reads what it tracks to the end, and one log of this size takes seconds.
      if (kind === LARGE && place === 'every file but the lock') continue
      const isOtherLog = (file: string) =>
        file.startsWith('.chirality/events/') && !file.includes(seeded.get(project) ?? '')
      const isKept = (file: string) =>
        stays.test(file) || (kind === LARGE && (file === 'tracked.md' || isOtherLog(file)))
      for (const file of files) if (!isKept(file)) putOddFile(kind, path.join(project, file))
    }
    const server = await start()
    const ask = (name: string, input: unknown) => {
      const call = `${name} ${JSON.stringify(input)}`
      open.add(call)
      return asked(server, name, input).finally(() => open.delete(call))
    }
    await Promise.all(
      odd.map(async ({ project, place }) => {
        const questions = everyQuestion({ project, sessionId: seeded.get(project) ?? '' })
        expect(questions.length).toBeGreaterThan(30)
        const answers = await Promise.all(
          questions.map(async ([name, input]) => ({ name, ...(await ask(name, input)) })),
        )
        for (const { name, status, text } of answers) {
          // A fault of the storage names the file.
          const isNamed = status === 503 && text.includes(path.join(project, '.chirality'))
          if (status >= 500 && !isNamed)
            surprises.push(`${kind} in the place of ${place}: ${name} ${status} ${text.slice(0, 300)}`)
        }
        // Work in the project itself may be refused, and ends.
        await workIn(ask, project, 'messages-api')
      }),
    )
    expect((await fetch(`${server.url}/healthz`)).status, at).toBe(200)
    const listed = await ask('sessions.list', { project: world.project })
    expect(listed.value.sessions, at).not.toEqual([])
    expect((await ask('loops.list', { project: world.project })).value, at).toEqual([])
    // Of all projects at once: the fault of one is not that of the others.
    for (const [name, input] of [
      ['sessions.list', {}],
      ['sessions.search', { query: 'well' }],
      ['sessions.usage', { timeZone: 'UTC', days: 7 }],
      ['loops.list', {}],
    ] as const) {
      const { status, text } = await ask(name, input)
      expect(status, `${at}: ${name} ${text.slice(0, 300)}`).toBe(200)
      if (name !== 'loops.list') expect(text, `${at}: ${name}`).toContain(world.project)
    }
    expect(await workIn(ask, world.project, 'messages-api'), at).toBe('completed')
    await server.close()
  }
  expect(surprises).toEqual([])
}, 3_600_000)

type Ask = (name: string, input: unknown) => Promise<Answer>

/** How the turn ended, or undefined if it was refused. */
async function workIn(ask: Ask, project: string, harness: string) {
  const { status, value } = await ask('sessions.create', { project, harness })
  if (status !== 200) return undefined
  const sessionId = value.id
  if ((await ask('turns.start', { sessionId, message: 'Go.' })).status !== 200) return undefined
  const last = async () => (await ask('sessions.get', { sessionId })).value?.lastTurn
  await expect.poll(last, { timeout: 60_000 }).not.toBeNull()
  await expect.poll(last, { timeout: 60_000 }).not.toBe('running')
  return last()
}

/** Projects with everything that they can have: sessions of two agents, and the files of the table. The last session of each. */
async function seed(world: World, projects: readonly string[], start: () => Promise<TestServer>) {
  for (const project of projects) {
    for (const [file, text] of Object.entries(BROUGHT)) {
      mkdirSync(path.dirname(path.join(project, file)), { recursive: true })
      writeFileSync(path.join(project, file), text)
    }
    const repository = initRepository(project)
    repository.run('add', 'tracked.md')
    // Git would read all that it takes for new, however large it is.
    const ignored = Object.keys(BROUGHT).filter(file => file !== 'tracked.md')
    repository.write('.git/info/exclude', ignored.map(file => `/${file}\n`).join(''))
    repository.run('commit', '-qm', 'first')
  }
  const server = await start()
  const ask: Ask = (name, input) => asked(server, name, input)
  expect(await workIn(ask, world.project, 'messages-api')).toBe('completed')
  const seeded = new Map<string, string>()
  await Promise.all(
    projects.map(async project => {
      await workIn(ask, project, 'claude-code')
      expect(await workIn(ask, project, 'messages-api')).toBe('completed')
      const { sessions } = (await ask('sessions.list', { project })).value
      const sessionId = sessions[0].id as string
      await ask('turns.queue.hold', { sessionId })
      await ask('turns.send', { sessionId, message: 'Later.' })
      seeded.set(project, sessionId)
    }),
  )
  await server.close()
  return seeded
}

interface Answer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: The contract checks every answer of a test.
  value: any
}

async function asked(server: TestServer, name: string, input: unknown): Promise<Answer> {
  const isQuery = procedures.some(([known, { _def }]) => known === name && _def.type === 'query')
  const response = isQuery
    ? await server.fetch(`/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`)
    : await server.post(`/trpc/${name}`, input)
  const text = await response.text()
  const value = response.status === 200 ? JSON.parse(text).result.data : undefined
  return { status: response.status, text, value }
}

/** Every query that takes a project or a session, for this one. */
function everyQuestion(known: { project: string; sessionId: string }): [string, unknown][] {
  const values: Record<string, unknown> = {
    ...known,
    ...{
      id: 'ODD',
      mode: 'direct',
      path: 'README.md',
      query: 'well',
      list: 'TASKS.md',
      loopId: 'odd-1',
      task: 'one',
    },
    ...{ turnId: 'no-such-turn', timeZone: 'UTC', days: 7, format: 'ndjson', harness: 'claude-code' },
  }
  return procedures.flatMap(([name, { _def }]) => {
    // The agents themselves answer the second.
    if (_def.type !== 'query' || name.startsWith('harnesses.')) return []
    const [group = '', call = ''] = name.split('.')
    const shape = shapeOf(
      (CALLS as unknown as Record<string, Record<string, { input?: unknown }>>)[group]?.[call]?.input,
    )
    if (!('project' in shape) && !('sessionId' in shape) && !('loopId' in shape)) return []
    const input = Object.fromEntries(
      Object.keys(shape).flatMap(key => (key in values ? [[key, values[key]]] : [])),
    )
    return [[name, input]]
  })
}

function shapeOf(schema: unknown): Record<string, unknown> {
  const { shape, unwrap } = (schema ?? {}) as { shape?: Record<string, unknown>; unwrap?: () => unknown }
  return shape ?? (unwrap === undefined ? {} : shapeOf(unwrap.call(schema)))
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)))
}
