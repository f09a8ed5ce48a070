import { type ChildProcess, spawn } from 'node:child_process'
import type { HostProgramOptions } from '../programs/host-program.ts'
import { type Bundle, bundle } from './bundle.ts'

export function bundleHostProgram(): Promise<Bundle> {
  return bundle('test/programs/host-program.ts')
}

/** A host in a process of its own. */
export class HostProgram {
  readonly lines: Record<string, unknown>[] = []
  readonly exited: Promise<NodeJS.Signals | number | null>
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()
  #output = ''
  #errors = ''
  #over = false

  constructor(file: string, options: HostProgramOptions) {
    this.#child = spawn(process.execPath, [file, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: options.environment.PATH,
        HOME: options.environment.HOME,
        TMPDIR: options.environment.TMPDIR,
      },
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    this.exited = new Promise(resolve => {
      this.#child.on('close', (code, signal) => {
        this.#over = true
        for (const check of this.#waiting) check()
        resolve(signal ?? code)
      })
    })
  }

  get errors(): string {
    return this.#errors
  }

  kill(): Promise<NodeJS.Signals | number | null> {
    this.#child.kill('SIGKILL')
    return this.exited
  }

  /** Resolves when it has printed a line that fits. */
  until(fits: (line: Record<string, unknown>, all: Record<string, unknown>[]) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = this.lines.some(line => fits(line, this.lines))
        if (!found && !this.#over) return
        this.#waiting.delete(check)
        if (found) resolve()
        else reject(new Error(`the host ended first: ${this.#errors}`))
      }
      this.#waiting.add(check)
      check()
    })
  }

  #read(text: string): void {
    this.#output += text
    const lines = this.#output.split('\n')
    this.#output = lines.pop() ?? ''
    for (const line of lines) this.lines.push(JSON.parse(line))
    for (const check of [...this.#waiting]) check()
  }
}
