import { claudeEnv, type ScriptedModel } from '@chirality/scripted-model'
import type { ClaudeCodeHarnessConfig } from '../../../src/claude-code/config.ts'
import { ClaudeCodeHarness } from '../../../src/claude-code/harness.ts'
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

export interface World extends BareWorld {
  /** A harness in a clean environment that reaches only the scripted model. */
  harness(binary: string, options?: HarnessOptions): ClaudeCodeHarness
}

export interface HarnessOptions
  extends Omit<ClaudeCodeHarnessConfig, 'binaryPath' | 'environment' | 'onLog'> {
  model?: ScriptedModel
  onLog?: (entry: RunnerLogEntry) => unknown
  /** Set over the clean environment; `undefined` takes a variable away. */
  environment?: Record<string, string | undefined>
}

export function useWorld(): World {
  const world = useBareWorld('claude-code')
  const harness: World['harness'] = (binaryPath, { model, environment, onLog, ...config } = {}) => {
    const clean = claudeEnv(model ?? { url: NOWHERE }, world.home)
    return new ClaudeCodeHarness({
      stop: PATIENT,
      lingerMs: PATIENT_MS,
      keepAlive: false,
      ...config,
      binaryPath,
      environment: definedOnly({ ...clean, [MARKER_VARIABLE]: world.marker, ...environment }),
      onLog: entry => {
        world.logs.push(entry)
        onLog?.(entry)
      },
    })
  }
  return Object.assign(world, { harness })
}
