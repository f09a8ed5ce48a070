import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { brokerPid, initFleet, invite, joinFleet } from '../src/engine/broker.ts'
import { type Member, readMember } from '../src/engine/fleet-files.ts'
import { Link } from '../src/engine/link.ts'
import { BIN_VARIABLE } from '../src/engine/nats-binary.ts'
import type { Role } from '../src/subjects.ts'
import { freePort, natsBinary, whenItWorks } from '../test/support/nats.ts'
import type { Command, Reply } from './protocol.ts'

/** One machine of the benchmark. */
export class BenchMachine {
  readonly home: string
  readonly project: string
  readonly #child: ChildProcess
  /** Commands are answered one after the other. */
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(child: ChildProcess, home: string, project: string) {
    this.#child = child
    this.home = home
    this.project = project
  }

  static async start(
    home: string,
    { project = join(home, 'project'), isInFleet }: { project?: string; isInFleet: boolean },
  ): Promise<BenchMachine> {
    const execArgv = ['--import', 'tsx', '--conditions=@chirality/source']
    const program = join(import.meta.dirname, 'machine-process.ts')
    const child = fork(program, [home, project, ...(isInFleet ? ['fleet'] : [])], {
      execArgv,
      env: { ...process.env, [BIN_VARIABLE]: await natsBinary() },
    })
    const machine = new BenchMachine(child, home, project)
    await machine.#reply()
    return machine
  }

  send(command: Command): Promise<Reply> {
    const answer = this.#turn.then(async () => {
      const reply = this.#reply()
      this.#child.send(command)
      return reply
    })
    this.#turn = answer.catch(() => {})
    return answer
  }

  /** Until `is` says so. */
  async until(command: Command, is: (reply: Reply) => boolean, limitMs = 60_000): Promise<Reply> {
    const end = performance.now() + limitMs
    for (;;) {
      const reply = await this.send(command)
      if (is(reply)) return reply
      if (performance.now() > end)
        throw new Error(
          `'${command.do}' was never answered as expected: ${JSON.stringify(reply).slice(0, 500)}`,
        )
      await sleep(50)
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  async #reply(): Promise<Reply> {
    const done = new AbortController()
    const { signal } = done
    const ended = once(this.#child, 'exit', { signal }).then(() => {
      throw new Error('A machine of the benchmark ended.')
    })
    ended.catch(() => {})
    const [reply] = (await Promise.race([once(this.#child, 'message', { signal }), ended]).finally(() =>
      done.abort(),
    )) as [Reply]
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply
  }
}

/** A hub with its broker, and machines that join it. */
export class BenchFleet {
  readonly hub: BenchMachine
  readonly #root: string
  readonly #machines: BenchMachine[]

  private constructor(root: string, hub: BenchMachine) {
    this.#root = root
    this.hub = hub
    this.#machines = [hub]
  }

  static async start(): Promise<BenchFleet> {
    const root = mkdtempSync(join(tmpdir(), 'chirality-bench-'))
    const home = join(root, 'hub')
    await initFleet({ home, machine: 'hub', port: await freePort() })
    const hub = await BenchMachine.start(home, { isInFleet: true })
    await hub.until({ do: 'machines' }, ({ states }) => states?.hub === 'here')
    return new BenchFleet(root, hub)
  }

  folder(name: string): string {
    return join(this.#root, name)
  }

  /** A key for one more machine, which is started by nobody. */
  async member(machine: string, role: Role = 'worker'): Promise<Member> {
    const home = this.folder(machine)
    await whenItWorks(async () => {
      const { code } = await invite(this.hub.home, role)
      await joinFleet({ home, code, machine })
    })
    const member = await readMember(home)
    if (member === undefined) throw new Error(`${machine} did not join.`)
    await whenItWorks(async () => (await Link.open(member)).close())
    return member
  }

  async machine(machine: string, project?: string): Promise<BenchMachine> {
    await this.member(machine)
    const options = { isInFleet: true, ...(project === undefined ? {} : { project }) }
    const made = await BenchMachine.start(this.folder(machine), options)
    this.#machines.push(made)
    await this.hub.until({ do: 'machines' }, ({ states }) => states?.[machine] === 'here')
    return made
  }

  /** A machine that is in no fleet. */
  async alone(name: string): Promise<BenchMachine> {
    const made = await BenchMachine.start(this.folder(name), { isInFleet: false })
    this.#machines.push(made)
    return made
  }

  /** User and system time of the broker. */
  async brokerCpuMs(): Promise<number> {
    const pid = await brokerPid(this.hub.home)
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  }

  async close(): Promise<void> {
    const pid = await brokerPid(this.hub.home)
    for (const machine of this.#machines) await machine.kill()
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }
}
