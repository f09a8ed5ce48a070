import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type {
  AdoptTurnOpts,
  HarnessTurnOpts,
  Session,
  SessionHarness,
  TurnTrace,
  UIEvent,
} from '@chirality/core'
import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { afterEach, beforeEach, expect } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { sendSignal } from '../../src/process/system/process-table.ts'
import type { Contestant, Place } from './contestants.ts'

/** Where one contestant after the other shows the same behaviour. Nothing is left after each test. */
export class Arena {
  root = ''
  marker = ''
  #model: ScriptedModel | null = null
  #harness: SessionHarness | null = null

  get project(): string {
    return path.join(this.root, 'project')
  }

  get place(): Place {
    return { home: path.join(this.root, 'home'), marker: this.marker }
  }

  get model(): ScriptedModel {
    if (!this.#model) throw new Error('open a model first')
    return this.#model
  }

  get harness(): SessionHarness {
    if (!this.#harness) throw new Error('open a harness first')
    return this.#harness
  }

  async open(agent: Contestant, script: Script, binary?: string): Promise<void> {
    const routes = [...(agent.routes ?? []), ...(script.routes ?? [])]
    this.#model = await startScriptedModel(routes.length > 0 ? { ...script, routes } : script)
    this.#harness = await agent.create(this.model, this.place, binary)
  }

  /** A new harness, as after a restart. */
  async reopen(agent: Contestant): Promise<void> {
    await this.#harness?.close()
    this.#harness = await agent.create(this.model, this.place)
  }

  session(fields: Partial<Session> = {}): Session {
    return {
      id: randomUUID(),
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      projectRoot: this.project,
      persona: null,
      mode: 'direct',
      claudeSessionId: null,
      ...fields,
    }
  }

  turn(message: string, opts: HarnessTurnOpts = {}): Promise<UIEvent[]> {
    return this.collect(this.session(), message, opts)
  }

  /** All events of a turn; the session learns its native id, as a store would see to. */
  async collect(session: Session, message: string, opts: HarnessTurnOpts = {}): Promise<UIEvent[]> {
    return gather(this.harness.startTurn(session, message, opts), session)
  }

  async adopt(session: Session, trace: TurnTrace, opts: AdoptTurnOpts = {}): Promise<UIEvent[]> {
    const turn = this.harness.adoptTurn?.(session, trace, opts)
    if (!turn) throw new Error('it adopts no turns')
    return gather(turn, session)
  }

  set(): void {
    this.root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-cross-')))
    this.marker = randomUUID()
    mkdirSync(path.join(this.root, 'home', 'tmp'), { recursive: true })
    mkdirSync(this.project)
  }

  async clear(): Promise<void> {
    try {
      await this.#harness?.close()
      await this.#model?.close()
      expect(await findByMarker(this.marker), 'processes left behind').toEqual([])
    } finally {
      this.#harness = null
      this.#model = null
      for (const { pid } of await findByMarker(this.marker)) sendSignal(pid, 'SIGKILL')
      rmSync(this.root, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

export function useArena(): Arena {
  const arena = new Arena()
  beforeEach(() => arena.set())
  afterEach(() => arena.clear())
  return arena
}

async function gather(turn: AsyncGenerator<UIEvent>, session: Session): Promise<UIEvent[]> {
  const events: UIEvent[] = []
  for await (const event of turn) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    events.push(event)
  }
  return events
}
