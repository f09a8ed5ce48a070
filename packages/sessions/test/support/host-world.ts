import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Envelope, SessionHarness, UIEvent, UIEventType } from '@chirality/core'
import { claudeBinary, codexBinary } from '@chirality/fixtures'
import {
  ClaudeCodeHarness,
  type ClaudeCodeHarnessConfig,
  CodexHarness,
  type CodexHarnessConfig,
  findByMarker,
  HarnessRegistry,
  MARKER_VARIABLE,
} from '@chirality/runner'
import {
  claudeEnv,
  codexArgs,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from '@chirality/scripted-model'
import { afterEach, beforeEach, expect } from 'vitest'
import type { SessionHostOptions } from '../../src/host/host-options.ts'
import { SessionHost } from '../../src/host/session-host.ts'
import type { LiveSession } from '../../src/status/live-session.ts'

export interface HostWorld {
  readonly root: string
  readonly project: string
  /** The user's data folder. */
  readonly data: string
  /** In the environment of everything that the agents of this test start. */
  readonly marker: string
  file(...parts: string[]): string
  model(script: Script): Promise<ScriptedModel>
  /** The environment of an agent that reaches the scripted model and nothing else. */
  environment(model: Pick<ScriptedModel, 'url'>): Record<string, string>
  claude(model: ScriptedModel, config?: ClaudeCodeHarnessConfig): ClaudeCodeHarness
  /** How a Codex is started that reaches the scripted model and nothing else. */
  codexConfig(model: ScriptedModel): CodexConfig
  codex(model: ScriptedModel): CodexHarness
  /** Closed at the end of the test. */
  host(harnesses: SessionHarness[], options?: Partial<SessionHostOptions>): SessionHost
  atEnd(step: () => Promise<void>): void
}

export type CodexConfig = Required<
  Pick<CodexHarnessConfig, 'binaryPath' | 'configOverrides' | 'allowEnvironment' | 'environment'>
>

/** A project, a HOME and a data folder of a test's own. Afterwards nothing of it may run. */
export function useHostWorld(): HostWorld {
  let root = ''
  let marker = ''
  let steps: (() => Promise<void>)[] = []
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'chirality-host-')))
    marker = randomUUID()
    steps = []
    mkdirSync(join(root, 'home', 'tmp'), { recursive: true })
    mkdirSync(join(root, 'project'))
  })
  afterEach(async () => {
    const faults: unknown[] = []
    // Each step is taken, so that a failed one leaves no disk mounted and no port open.
    for (const step of steps.reverse()) await step().catch((fault: unknown) => faults.push(fault))
    try {
      expect(faults).toEqual([])
      expect(await findByMarker(marker), 'processes left behind').toEqual([])
    } finally {
      for (const { pid } of await findByMarker(marker)) process.kill(pid, 'SIGKILL')
      rmSync(root, { recursive: true, force: true })
    }
  })
  const world: HostWorld = {
    get root() {
      return root
    },
    get project() {
      return join(root, 'project')
    },
    get data() {
      return join(root, 'data')
    },
    get marker() {
      return marker
    },
    file: (...parts) => join(root, 'project', '.chirality', ...parts),
    model: async script => {
      const model = await startScriptedModel(script)
      steps.push(() => model.close())
      return model
    },
    environment: model => ({ ...claudeEnv(model, join(root, 'home')), [MARKER_VARIABLE]: marker }),
    claude: (model, config = {}) =>
      new ClaudeCodeHarness({
        binaryPath: claudeBinary(),
        environment: world.environment(model),
        keepAlive: false,
        ...config,
      }),
    codexConfig: model => {
      const scripted = codexArgs(model)
      const home = join(root, 'home')
      const codexHome = join(home, '.codex')
      mkdirSync(codexHome, { recursive: true })
      return {
        binaryPath: codexBinary().path,
        configOverrides: scripted.args.filter(arg => arg !== '-c'),
        allowEnvironment: Object.keys(scripted.env),
        environment: {
          PATH: '/usr/local/bin:/usr/bin:/bin',
          HOME: home,
          CODEX_HOME: codexHome,
          TMPDIR: join(home, 'tmp'),
          [MARKER_VARIABLE]: marker,
          ...scripted.env,
        },
      }
    },
    codex: model => new CodexHarness(world.codexConfig(model)),
    host: (harnesses, options = {}) => {
      const registry = new HarnessRegistry<SessionHarness>()
      for (const harness of harnesses) registry.register(harness)
      const address = 'http://127.0.0.1:4096'
      const host = new SessionHost({ harnesses: registry, address, home: world.data, ...options })
      steps.push(() => host.close())
      return host
    },
    atEnd: step => void steps.push(step),
  }
  return world
}

/** The requests of turns after the first ones, without those that an agent makes beside them. */
export function bodiesAfter(model: ScriptedModel, count: number): string[] {
  return model.requests
    .slice(count)
    .filter(({ served }) => served !== '' && !served.startsWith('side:'))
    .map(({ body }) => JSON.stringify(body))
}

export function eventsOf(session: LiveSession): UIEvent[] {
  return envelopesOf(session).map(({ event }) => event)
}

export function envelopesOf({ log }: LiveSession): Envelope[] {
  return log.readAfter(0, log.lastSeq, { maxBytes: Number.POSITIVE_INFINITY })
}

export function typesOf(session: LiveSession): UIEventType[] {
  return eventsOf(session).map(({ type }) => type)
}

/** The first envelope that fits, now or later. */
export async function untilEvent(session: LiveSession, fits: (event: UIEvent) => boolean): Promise<Envelope> {
  for await (const batch of session.log.subscribe(0)) {
    const found = batch.find(({ event }) => fits(event))
    if (found !== undefined) return found
  }
  throw new Error('the log ended before the awaited event')
}
