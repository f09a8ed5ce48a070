import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cleanHome, initRepository, type Repository } from '@chirality/fixtures'
import { type Bundle, bundleProgram } from '@chirality/fixtures/bundle-program'
import { LoopBook, type LoopState, readReceipt, type Stamped } from '@chirality/loops'
import { type Script, startScriptedModel } from '@chirality/scripted-model'
import type { KillPoint, LoopServerOptions } from '../programs/loop-server.ts'

/** Tasks by how they end if nothing is in the way. */
export interface KillTasks {
  proved: number
  /** Ends with a question: parked. */
  asking: number
  /** Says that it is done, and changes nothing: failed. */
  idle: number
}

export interface LoopReport {
  kills: number
  problems: string[]
  state: LoopState
  entries: Stamped[]
}

/** A project with an agent that costs no process of its own, and servers for it that are killed. */
export class KillWorld {
  readonly repository: Repository
  readonly #root: string
  readonly #options: LoopServerOptions
  readonly #program: Bundle
  readonly #dispose: () => Promise<void>
  readonly #living = new Set<KilledServer>()
  #lists = 0

  private constructor(
    options: LoopServerOptions,
    root: string,
    program: Bundle,
    dispose: () => Promise<void>,
  ) {
    this.#options = options
    this.#root = root
    this.#program = program
    this.#dispose = dispose
    this.repository = initRepository(options.project)
    this.repository.write('README.md', 'A project.\n')
    this.repository.run('add', '.')
    this.repository.run('commit', '-qm', 'First')
  }

  static async open(): Promise<KillWorld> {
    const model = await startScriptedModel(agentScript())
    const { home, project, env, dispose } = await cleanHome(model)
    const program = await bundleProgram(fileURLToPath(new URL('../programs/loop-server.ts', import.meta.url)))
    const options = { project, home: path.join(home, 'chirality'), environment: env }
    return new KillWorld(options, path.dirname(home), program, async () => {
      program.remove()
      await model.close()
      await dispose()
    })
  }

  async close(): Promise<void> {
    for (const server of this.#living) await server.kill()
    await this.#dispose()
  }

  get book(): LoopBook {
    return new LoopBook(this.#options.project, this.#options.home)
  }

  async server(killAt?: KillPoint): Promise<KilledServer> {
    const options: LoopServerOptions = { ...this.#options, ...(killAt ? { killAt } : {}) }
    const { PATH = '', HOME = '', TMPDIR = '' } = options.environment
    const child = spawn(process.execPath, [this.#program.file, JSON.stringify(options)], {
      env: { PATH, HOME, TMPDIR },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    // A server that is killed at its first step says nothing.
    const first = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
    const { url, token } = first.done ? { url: '', token: '' } : JSON.parse(first.value)
    const server: KilledServer = {
      exited,
      kill: async () => {
        child.kill('SIGKILL')
        await exited
        this.#living.delete(server)
      },
      post: async (route, body) => {
        const response = await fetch(`${url}/api/harness/loops${route}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        const answer: unknown = await response.json()
        if (!response.ok) throw new Error(JSON.stringify(answer))
        return answer
      },
    }
    this.#living.add(server)
    return server
  }

  /** Commits a new list and starts a loop on it, in a server that is killed as said. */
  async start(tasks: KillTasks, { killAt, parallel = 1 }: { killAt?: KillPoint; parallel?: number } = {}) {
    this.#lists += 1
    const list = `TASKS-${this.#lists}.md`
    const count = tasks.proved + tasks.asking + tasks.idle
    const kind = (at: number) =>
      at < tasks.proved ? 'Make' : at < tasks.proved + tasks.asking ? 'Ask' : 'Say'
    const items = Array.from({ length: count }, (_, at) => {
      const name = String(at).padStart(2, '0')
      const check = kind(at) === 'Make' ? `  checks: grep -q ${name} ${this.#lists}-${name}.txt\n` : ''
      return `- [ ] ${kind(at)} ${this.#lists}-${name}\n${check}`
    })
    const settings = [
      'harness: messages-api',
      'max_attempts: 100',
      'max_failures: 100',
      `parallel: ${parallel}`,
    ]
    this.repository.write(list, `---\n${settings.join('\n')}\n---\n${items.join('')}`)
    // With the ticks of the list before.
    this.repository.run('add', '*.md')
    this.repository.run('commit', '-qm', list)
    const before = this.#files()
    const server = await this.server(killAt)
    const { project } = this.#options
    const started = server.post('', { projectRoot: project, list })
    // One that is to be killed may not get to an answer.
    await (killAt === undefined ? started : started.catch(() => {}))
    return { server, list, before, loopId: (await this.book.get()).loopId }
  }

  /** What is not as it has to be after the end of a loop. */
  async problems(
    loopId: string,
    before: ReadonlyMap<string, string>,
  ): Promise<LoopReport & { ends: Map<string, string> }> {
    const { book, repository } = this
    const state = await book.get(loopId)
    const entries = await book.entries(loopId)
    const { broken, altered, copyAltered, unreadable = [] } = state
    const problems: string[] = [broken, altered, copyAltered, unreadable].flat()
    problems.push(...(await book.warnings(state)))
    const say = (is: boolean, words: string) => is || problems.push(words)
    const ends = new Map<string, string>()
    for (const entry of entries)
      if (entry.type === 'task:merged' || entry.type === 'task:parked' || entry.type === 'task:failed') {
        say(!ends.has(entry.task), `${entry.task} ended twice`)
        ends.set(entry.task, entry.type)
      }
    const list = path.relative(this.#options.project, state.list)
    const branch = `chirality/loop-${list.replace('.md', '').toLowerCase()}`
    const open = [...state.tasks.values()].filter(({ status }) => status !== 'merged')
    for (const { id, title } of (await book.tasks(state)) ?? []) {
      const task = state.tasks.get(id)
      say(ends.has(id) && task?.status !== 'working', `${id} has no end`)
      const wantedEnd = { Make: 'merged', Ask: 'parked', Say: 'failed' }[title.split(' ')[0] ?? '']
      say(task?.status === wantedEnd, `${id} is ${task?.status}: ${task?.why}`)
      if (task?.status !== 'merged') continue
      const file = `${title.split(' ')[1]}.txt`
      const wanted = `${file.slice(-6, -4)}\n`
      say(
        quietly(() => repository.run('show', `${branch}:${file}`)) === wanted,
        `${file} is not on the branch`,
      )
      const receipt = await readReceipt(path.join(book.folder(loopId), 'receipts', `${id}.json`))
      say(receipt.merged === task.merged, `the receipt of ${id} says ${receipt.merged}, not ${task.merged}`)
    }
    const ticked = ((await book.tasks(state)) ?? []).filter(one => one.ticked).map(({ id }) => id)
    const merged = [...state.tasks.values()].filter(({ status }) => status === 'merged')
    say(ticked.join() === merged.map(one => one.task.id).join(), `ticked: ${ticked}`)
    const lines = (...args: string[]) =>
      repository
        .run(...args)
        .split('\n')
        .filter(Boolean)
    const worktrees = lines('worktree', 'list', '--porcelain').filter(line => line.startsWith('worktree '))
    const here = worktrees.filter(line => line.includes(loopId))
    say(here.length === 1 + open.length, `worktrees: ${here.join(' ')}; ${open.length} tasks are open`)
    const reachable = lines(
      'for-each-ref',
      '--format=%(refname:short)',
      `--contains=${state.base}`,
      'refs/heads',
    )
    say(reachable.length <= 2 + open.length, `branches: ${reachable.join(' ')}`)
    for (const [file, hash] of this.#files())
      say(before.get(file) === hash || file === list, `${file} was changed in the project`)
    say(this.#files().size === before.size, 'files were added to or removed from the project')
    say(repository.run('fsck', '--no-dangling', '--no-progress') === '', 'fsck')
    const locks = readdirSync(path.join(this.#options.project, '.git'), { recursive: true, encoding: 'utf8' })
    say(!locks.some(name => name.endsWith('.lock')), 'lock files of git')
    return { kills: 0, problems, state, entries, ends }
  }

  /** Processes that work in this world's folders. */
  processes(): string[] {
    if (!existsSync('/proc/self/cwd')) return []
    return readdirSync('/proc').filter(pid => {
      if (!/^\d+$/.test(pid)) return false
      return quietly(() => readlinkSync(`/proc/${pid}/cwd`))?.startsWith(this.#root) ?? false
    })
  }

  #files(): Map<string, string> {
    const { project } = this.#options
    const names = readdirSync(project, { recursive: true, withFileTypes: true })
    const files = names.flatMap(entry => (entry.isFile() ? [path.join(entry.parentPath, entry.name)] : []))
    const own = files.filter(file => !/^\.(git|chirality)\//.test(path.relative(project, file)))
    const hash = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
    return new Map(own.map(file => [path.relative(project, file), hash(file)]))
  }
}

export interface KilledServer {
  exited: Promise<unknown>
  kill(): Promise<void>
  post(route: string, body: unknown): Promise<unknown>
}

/**
 * Kills servers at random moments of loops with these tasks until there were so many kills, and lets each loop end.
 * A report for each loop.
 */
export async function* killAtRandom(
  world: KillWorld,
  tasks: KillTasks,
  { kills, random, parallel = 1 }: { kills: number; random: () => number; parallel?: number },
): AsyncGenerator<LoopReport> {
  let left = kills
  while (left > 0) {
    const { server: first, loopId, before } = await world.start(tasks, { parallel })
    let server = first
    let made = 0
    // A server that gets to no end of a task in many lives has to live longer on this machine.
    let life = { ms: MAX_LIFE_MS, ended: 0, kills: 0 }
    for (;;) {
      const { end, tasks: begun } = await world.book.get(loopId)
      const ended = [...begun.values()].filter(({ status }) => status !== 'working').length
      if (ended > life.ended) life = { ...life, ended, kills: 0 }
      if (life.kills >= LIVES_WITHOUT_END) life = { ms: life.ms * 2, ended, kills: 0 }
      if (end?.reason === 'done' || end?.reason === 'blocked') break
      // It was ended three times at once: a person would go on with it.
      if (end !== undefined) await server.post(`/${loopId}/resume`, {})
      if (left === 0) {
        await pause(50)
        continue
      }
      await pause(random() * life.ms)
      await server.kill()
      left -= 1
      made += 1
      life.kills += 1
      server = await world.server()
    }
    await server.kill()
    const report = await world.problems(loopId, before)
    const processes = world.processes()
    if (processes.length > 0) report.problems.push(`processes are left: ${processes.join()}`)
    yield { ...report, kills: made }
  }
}

const MAX_LIFE_MS = 1_500
const LIVES_WITHOUT_END = 10

/** Does what the words of a task say, however many times it is asked. */
function agentScript(): Script {
  return {
    routes: [
      { when: { toolResultContains: 'made it' }, answers: [], otherwise: 'I am done.' },
      ...Array.from({ length: MAX_LISTS * MAX_TASKS }, (_, at) => {
        const name = `${Math.floor(at / MAX_TASKS) + 1}-${String(at % MAX_TASKS).padStart(2, '0')}`
        return {
          when: { conversationContains: `## Task\n\nMake ${name}` },
          answers: [],
          otherwise: {
            tool: 'bash',
            input: { command: `echo ${name.slice(-2)} > ${name}.txt; echo made it` },
          },
        }
      }),
      { when: { conversationContains: '## Task\n\nAsk ' }, answers: [], otherwise: 'Which one do you mean?' },
    ],
    otherwise: 'I have done all of it.',
  }
}

const MAX_LISTS = 60
const MAX_TASKS = 20

function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
