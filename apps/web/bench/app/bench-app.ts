import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Command, Reply, StreamPlan } from './protocol.ts'

/** The whole product but for the model: the real server in a process of its own, and the built dashboard in a browser. */
export class BenchApp {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #start: Reply
  readonly #browser: Browser
  #context: BrowserContext | undefined

  private constructor(browser: Browser, child: ChildProcess, about: { folder: string; start: Reply }) {
    this.#browser = browser
    this.#child = child
    this.#folder = about.folder
    this.#start = about.start
  }

  static async open(browser: Browser): Promise<BenchApp> {
    const folder = mkdtempSync(path.join(tmpdir(), 'chirality-bench-'))
    const program = path.join(import.meta.dirname, 'server-process.ts')
    const execArgv = ['--import', 'tsx', '--conditions=@chirality/source']
    const child = fork(program, [folder], { execArgv })
    const died = once(child, 'exit').then(() => Promise.reject(new Error('The server of the bench died.')))
    // Later it is ended on purpose.
    died.catch(() => {})
    const [start] = (await Promise.race([once(child, 'message'), died])) as [Reply]
    return new BenchApp(browser, child, { folder, start })
  }

  /** The folder of all sessions. */
  get project(): string {
    return path.join(this.#folder, 'project')
  }

  /** A page that is signed in, as a tab is that was reloaded. */
  async page(address = '/'): Promise<Page> {
    const { url, token } = this.#start
    this.#context ??= await this.#browser.newContext({
      viewport: { width: 1440, height: 900 },
      serviceWorkers: 'allow',
    })
    const page = await this.#context.newPage()
    await page.addInitScript(`sessionStorage.setItem('chirality-token', '${token}')`)
    // The loader of the benchmark names functions with a helper that the page does not have.
    await page.addInitScript('globalThis.__name = value => value')
    await page.goto(`${url}${address}`)
    return page
  }

  async importLog(events: number): Promise<string> {
    return (await this.#send({ do: 'import', events })).sessionId ?? ''
  }

  async createSession(title: string): Promise<string> {
    return (await this.#send({ do: 'create', title })).sessionId ?? ''
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.#send({ do: 'delete', sessionId })
  }

  /** Resolves when the turn is over. */
  stream(sessionId: string, plan: StreamPlan): Promise<Reply> {
    return this.#send({ do: 'stream', sessionId, plan })
  }

  /** Resolves when the turns of all of them are over. */
  async streamAll(sessionIds: string[], plan: StreamPlan): Promise<void> {
    await this.#send({ do: 'stream-all', sessionIds, plan })
  }

  async close(): Promise<void> {
    await this.#context?.close()
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #send(command: Command): Promise<Reply> {
    const reply = once(this.#child, 'message')
    this.#child.send(command)
    return ((await reply) as [Reply])[0]
  }
}
