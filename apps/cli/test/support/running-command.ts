import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Envelope } from '@chirality/core'

export interface StartOptions {
  cwd?: string
  /** Set over the world's; `undefined` takes a variable away. */
  env?: Record<string, string | undefined>
  /** Sent to stdin, which is empty without it. */
  input?: string
  /** Leaves stdin open for `write()`. */
  keepsInput?: boolean
  /** Instead of Node with the command. */
  program?: string
  /** Where stdout goes instead of a pipe. */
  stdoutFile?: string
}

export interface CommandResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** The command as its user starts it, with stdout and stderr as pipes. */
export class RunningCommand {
  readonly #child: ChildProcess
  readonly #result: Promise<CommandResult>
  readonly #watchers = new Set<() => void>()
  #stdout = ''
  #stderr = ''
  #ended = false

  constructor(args: string[], options: StartOptions) {
    const { cwd, env, input, keepsInput, stdoutFile, program = process.execPath } = options
    const stdout = stdoutFile === undefined ? 'pipe' : openSync(stdoutFile, 'w')
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', stdout, 'pipe'] })
    if (typeof stdout === 'number') closeSync(stdout)
    this.#child = child
    child.stdin?.on('error', () => {})
    if (keepsInput) child.stdin?.write(input ?? '')
    else child.stdin?.end(input ?? '')
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      this.#notify()
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.#result = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        this.#ended = true
        this.#notify()
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr })
      })
    })
  }

  write(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  /** stdin and stdout as streams of bytes, from here on. */
  streams(): { input: WritableStream<Uint8Array>; output: ReadableStream<Uint8Array> } {
    const child = this.#child
    const encoder = new TextEncoder()
    return {
      input: new WritableStream({ write: chunk => void child.stdin?.write(chunk) }),
      output: new ReadableStream({
        start: reader => {
          child.stdout?.on('data', (text: string) => reader.enqueue(encoder.encode(text)))
          child.stdout?.once('close', () => reader.close())
        },
      }),
    }
  }

  endInput(): void {
    this.#child.stdin?.end()
  }

  get isRunning(): boolean {
    return !this.#ended
  }

  get stderr(): string {
    return this.#stderr
  }

  get stdout(): string {
    return this.#stdout
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  result(): Promise<CommandResult> {
    return this.#result
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Like the end of `| head`. */
  closeStdout(): void {
    this.#child.stdout?.destroy()
  }

  /** Like a pager whose user has gone for coffee. */
  pauseStdout(): void {
    this.#child.stdout?.pause()
  }

  /** Resolves when stdout has it. */
  shows(text: string): Promise<void> {
    return this.#until(() => this.#stdout.includes(text), text)
  }

  /** Resolves when stdout has its envelope. */
  prints(type: string): Promise<void> {
    return this.#until(() => this.#stdout.includes(`"event":{"type":"${type}"`), type)
  }

  #until(holds: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = holds()
        if (!found && !this.#ended) return
        this.#watchers.delete(look)
        if (found) resolve()
        else reject(new Error(`ended without ${what}:\n${this.#stdout}\n${this.#stderr}`))
      }
      this.#watchers.add(look)
      look()
    })
  }

  #notify(): void {
    for (const look of [...this.#watchers]) look()
  }
}

/** Every line of stdout, as JSON. Fails on a line that is none. */
export function jsonLines<T = Envelope>(stdout: string): T[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as T)
}
