// @ts-check
import { EventEmitter } from 'node:events'
import { PassThrough, Writable } from 'node:stream'

/** @typedef {import('./protocol/worker-messages.ts').WorkerResponse} WorkerResponse */

/**
 * The process object that the SDK uses. The real agent is a child of the main thread; this only forwards its input and
 * output.
 */
export class BridgedProcess extends EventEmitter {
  killed = false
  /** @type {number | null} */
  exitCode = null
  stdout = new PassThrough()
  stdin

  /** @param {(response: WorkerResponse) => void} post */
  constructor(post) {
    super()
    this.post = post
    this.stdin = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        post({ type: 'stdin', text: String(chunk) })
        done()
      },
      final(done) {
        post({ type: 'stdin-end' })
        done()
      },
    })
  }

  /** @param {{ command: string, args: string[], cwd?: string, env: Record<string, string | undefined> }} options */
  spawn({ command, args, cwd = process.cwd(), env }) {
    const defined = Object.entries(env).filter(([, value]) => value !== undefined)
    this.post({ type: 'spawn', command, args, cwd, env: /** @type {any} */ (Object.fromEntries(defined)) })
    return this
  }

  /** @param {string} [signal] */
  kill(signal = 'SIGTERM') {
    this.killed = true
    this.post({ type: 'kill', signal })
    return true
  }

  /**
   * @param {number | null} code
   * @param {string | null} signal
   */
  end(code, signal) {
    this.exitCode = code
    this.stdout.end()
    this.emit('exit', code, signal)
  }
}
