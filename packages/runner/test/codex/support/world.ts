import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { codexBinary } from '@chirality/fixtures'
import { codexArgs, type ScriptedModel } from '@chirality/scripted-model'
import type { CodexHarnessConfig } from '../../../src/codex/config.ts'
import { CodexHarness } from '../../../src/codex/harness.ts'
import type { RunnerLogEntry } from '../../../src/common/log-entry.ts'
import { MARKER_VARIABLE } from '../../../src/process/system/leftovers.ts'
import {
  type BareWorld,
  definedOnly,
  NOWHERE,
  PATIENT,
  PATIENT_MS,
  useBareWorld,
} from '../../support/world.ts'

export type Voice = 'app-server' | 'exec'

export const VOICES: { voice: Voice }[] = [{ voice: 'app-server' }, { voice: 'exec' }]

export interface World extends BareWorld {
  readonly codexHome: string
  /** A harness in a clean environment that reaches only the scripted model. Closed at the test's end. */
  harness(options?: HarnessOptions): CodexHarness
}

export interface HarnessOptions extends Omit<CodexHarnessConfig, 'environment' | 'onLog'> {
  model?: ScriptedModel
  onLog?: (entry: RunnerLogEntry) => unknown
  /** Set over the clean environment; `undefined` takes a variable away. */
  environment?: Record<string, string | undefined>
}

export function useWorld(): World {
  const world = useBareWorld('codex')
  const codexHome = () => path.join(world.home, '.codex')
  const harness: World['harness'] = ({ model, environment, onLog, ...config } = {}) => {
    mkdirSync(codexHome(), { recursive: true })
    const scripted = codexArgs(model ?? { openaiUrl: `${NOWHERE}/v1` })
    const clean = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: world.home,
      CODEX_HOME: codexHome(),
      TMPDIR: world.temporary,
      [MARKER_VARIABLE]: world.marker,
      ...scripted.env,
    }
    const created = new CodexHarness({
      binaryPath: codexBinary().path,
      stop: PATIENT,
      idleMs: PATIENT_MS,
      handshakeMs: PATIENT_MS,
      lingerMs: PATIENT_MS,
      ...config,
      configOverrides: [
        ...scripted.args.filter(arg => arg !== '-c'),
        // Servers of a test are waited for, too, and not for a second only.
        'mcp_optional_startup_grace_ms=0',
        ...(config.configOverrides ?? []),
      ],
      allowEnvironment: [...Object.keys(scripted.env), ...(config.allowEnvironment ?? [])],
      environment: definedOnly({ ...clean, ...environment }),
      onLog: entry => {
        world.logs.push(entry)
        onLog?.(entry)
      },
    })
    world.atEnd(() => created.close())
    return created
  }
  return Object.defineProperty(Object.assign(world, { harness }), 'codexHome', { get: codexHome }) as World
}
