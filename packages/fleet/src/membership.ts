import type { ProjectLock } from '@chirality/sessions'
import { invite, revoke } from './engine/broker.ts'
import type { RunningBroker } from './engine/broker-process.ts'
import { lockMember, type Member, notSetUp, readBroker, serversOf } from './engine/fleet-files.ts'
import { currentMember, startOwnBroker } from './engine/own-broker.ts'
import { fleetError } from './fleet-error.ts'
import type { FleetMemberOptions } from './fleet-member-options.ts'
import type { MachineKeys } from './machines.ts'
import type { Role } from './subjects.ts'

/** This machine's place in its fleet, locked against a second server, with the broker if it belongs to this machine. */
export class Membership {
  readonly member: Member
  /** True if machines are invited and revoked here. */
  readonly letsIn: boolean
  readonly #home: string
  readonly #lock: ProjectLock
  readonly #broker: RunningBroker | undefined
  #keys: MachineKeys | undefined

  private constructor(
    home: string,
    member: Member,
    { lock, broker, letsIn }: { lock: ProjectLock; broker: RunningBroker | undefined; letsIn: boolean },
  ) {
    this.member = member
    this.letsIn = letsIn
    this.#home = home
    this.#lock = lock
    this.#broker = broker
  }

  /** Reads what `fleet init` or `fleet join` wrote, and starts the broker if it belongs to this machine. */
  static async open({ home, url, onNews }: FleetMemberOptions): Promise<Membership> {
    const member = await currentMember(home)
    if (member === undefined) throw notSetUp()
    if (url !== undefined && !serversOf(url).every(one => serversOf(member.url).includes(one)))
      throw fleetError('fleet-refused', `This machine joined ${member.url}, not ${url}.`)
    const lock = await lockMember(home, member.machine)
    try {
      return new Membership(home, member, { lock, ...(await startOwnBroker(home, onNews)) })
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /** The machines with a key. Undefined if the broker is on another machine. */
  get keys(): MachineKeys | undefined {
    return this.#keys
  }

  async readKeys(): Promise<void> {
    if (this.letsIn) this.#keys = (await readBroker(this.#home))?.machines
  }

  /** Makes a code with which one machine can join. Works only where the broker is. */
  invite(role: Role): Promise<{ code: string; fingerprint: string }> {
    return invite(this.#home, role)
  }

  async revoke(machine: string): Promise<void> {
    await revoke(this.#home, machine)
    await this.readKeys()
  }

  async close(): Promise<void> {
    await this.#broker?.stop()
    await this.#lock.release()
  }
}
