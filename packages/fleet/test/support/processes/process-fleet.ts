import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { sharedBundle } from '@chirality/fixtures/bundle-program'
import { initFleet, invite } from '../../../src/engine/broker.ts'
import { brokerPid } from '../../../src/engine/broker-process.ts'
import { brokerFolder, type Member, readMember } from '../../../src/engine/fleet-files.ts'
import { BIN_VARIABLE } from '../../../src/engine/nats-binary.ts'
import type { Role } from '../../../src/subjects.ts'
import { freePort, natsBinary } from '../nats.ts'
import { joinsFleet } from './joins-fleet.ts'
import type { Command, Reply } from './protocol.ts'

export interface MachineOptions {
  project?: string
  isInFleet: boolean
  /** Error of its clock. */
  clockMs?: number
  /** The words before a command that is run on the machine. */
  enter?: string[]
}

/** Addresses of the machines. Default: all on loopback. */
export interface Places {
  /** The address of the hub. */
  host: string
  enter: (machine: string) => string[]
}

const TYPESCRIPT = ['--import', 'tsx', '--conditions=@chirality/source']

/** One machine in a process of its own. */
export class MachineProcess {
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
    { project = join(home, 'project'), isInFleet, clockMs, enter = [] }: MachineOptions,
  ): Promise<MachineProcess> {
    const [execPath = '', ...execArgv] = [...enter, process.execPath]
    if (clockMs !== undefined) execArgv.push('--import', join(import.meta.dirname, 'wrong-clock.mjs'))
    const program = await sharedBundle(join(import.meta.dirname, 'machine-process.ts'))
    const child = fork(program, [home, project, ...(isInFleet ? ['fleet'] : [])], {
      execPath,
      execArgv,
      env: { ...process.env, [BIN_VARIABLE]: await natsBinary(), CLOCK_MS: String(clockMs ?? 0) },
    })
    const machine = new MachineProcess(child, home, project)
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

  /** A stopped machine answers when it goes on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name)
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
      throw new Error('A machine ended.')
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
export class ProcessFleet {
  hub: MachineProcess
  readonly #root: string
  readonly #enter: Places['enter'] | undefined
  readonly #machines: MachineProcess[]

  private constructor(root: string, hub: MachineProcess, enter: Places['enter'] | undefined) {
    this.#root = root
    this.#enter = enter
    this.hub = hub
    this.#machines = [hub]
  }

  /** `prepare` gets the folder of the broker's store before it is started. */
  static async start({
    prepare = async () => {},
    places,
  }: {
    prepare?: (store: string) => Promise<void>
    places?: Places
  } = {}): Promise<ProcessFleet> {
    const root = mkdtempSync(join(tmpdir(), 'chirality-fleet-'))
    const home = join(root, 'hub')
    try {
      const host = places === undefined ? {} : { host: places.host }
      await initFleet({ home, machine: 'hub', port: await freePort(), ...host })
      await prepare(join(brokerFolder(home), 'store'))
      return await ProcessFleet.over(root, home, places?.enter)
    } catch (error) {
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
      throw error
    }
  }

  /** Over the fleet of a hub that is set up; its brokers may be a cluster that the caller starts. */
  static async over(root: string, home: string, enter?: Places['enter']): Promise<ProcessFleet> {
    const hub = await MachineProcess.start(home, { isInFleet: true, ...entering(enter, 'hub') })
    const fleet = new ProcessFleet(root, hub, enter)
    try {
      await hub.until({ do: 'machines' }, ({ states }) => states?.hub === 'here')
      return fleet
    } catch (error) {
      await fleet.close()
      throw error
    }
  }

  folder(name: string): string {
    return join(this.#root, name)
  }

  /** A key for one more machine, which is started by nobody. */
  async member(machine: string, role: Role = 'worker'): Promise<Member> {
    const home = this.folder(machine)
    const { code } = await invite(this.hub.home, role)
    const [program, ...words] = this.#enter?.(machine) ?? []
    const joining = { home, code, machine }
    if (program === undefined) await joinsFleet(joining)
    else {
      const file = join(import.meta.dirname, 'join-process.ts')
      const args = [...words, process.execPath, ...TYPESCRIPT, file, JSON.stringify(joining)]
      await promisify(execFile)(program, args)
    }
    const member = await readMember(home)
    if (member === undefined) throw new Error(`${machine} did not join.`)
    return member
  }

  async machine(
    machine: string,
    { role, ...options }: Omit<MachineOptions, 'isInFleet' | 'enter'> & { role?: Role } = {},
  ): Promise<MachineProcess> {
    await this.member(machine, role)
    const made = await this.start(machine, options)
    await this.hub.until({ do: 'machines' }, ({ states }) => states?.[machine] === 'here')
    return made
  }

  /** Starts a machine that joined. */
  async start(
    machine: string,
    options: Omit<MachineOptions, 'isInFleet' | 'enter'> = {},
  ): Promise<MachineProcess> {
    const made = await MachineProcess.start(this.folder(machine), {
      ...options,
      isInFleet: true,
      ...entering(this.#enter, machine),
    })
    this.#machines.push(made)
    return made
  }

  /** The hub again, after it was killed. Its broker may still run. */
  async startHub(): Promise<void> {
    this.hub = await this.start('hub')
  }

  async killBroker(): Promise<void> {
    const pid = await brokerPid(this.hub.home)
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }

  /** A machine that is in no fleet. */
  async alone(name: string): Promise<MachineProcess> {
    const made = await MachineProcess.start(this.folder(name), { isInFleet: false })
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
    for (const machine of this.#machines) await machine.kill()
    await this.killBroker()
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }
}

function entering(enter: Places['enter'] | undefined, machine: string): Pick<MachineOptions, 'enter'> {
  return enter === undefined ? {} : { enter: enter(machine) }
}
