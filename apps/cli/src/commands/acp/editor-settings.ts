import { PERMISSION_WORDS, type PermissionMode } from '@chirality/core'
import type { CallOutputs, HarnessInfo } from '@chirality/server'
import type { JsonObject } from './editor-connection.ts'

type StoredSession = CallOutputs['sessions']['get']

/** What the settings of a session in an editor depend on. */
interface SetSession {
  stored: StoredSession
  harness: HarnessInfo | undefined
}

/** The settings of a session as the answer to opening it has them. */
export function settingsOf(session: SetSession): JsonObject {
  const { stored, harness } = session
  const availableModes = modesOf(harness).map(id => ({
    ...{ id, name: PERMISSION_WORDS[id].label, description: PERMISSION_WORDS[id].consequence },
  }))
  return {
    modes: { currentModeId: modeOf(stored), availableModes },
    configOptions: configOptions(session),
  }
}

interface ConfigOption {
  id: string
  name: string
  category: string
  type: 'select'
  currentValue: string
  options: { value: string; name: string; description?: string }[]
}

/** Editors that know options show these instead of the modes, so the mode is one of them. */
export function configOptions({ stored, harness }: SetSession): ConfigOption[] {
  const modes = modesOf(harness).map(id => ({
    ...{ value: id, name: PERMISSION_WORDS[id].label, description: PERMISSION_WORDS[id].consequence },
  }))
  const models = (harness?.models ?? []).map(({ id, label }) => ({ value: id, name: label }))
  const model = stored.settings.model ?? harness?.models.find(({ isDefault }) => isDefault)?.id
  return [
    select('mode', 'Permissions', { currentValue: modeOf(stored), options: modes }),
    ...(model === undefined
      ? []
      : [
          select('model', 'Model', {
            currentValue: model,
            options: models.some(({ value }) => value === model)
              ? models
              : [...models, { value: model, name: model }],
          }),
        ]),
  ]
}

/** Modes in which somebody is asked make no sense with an agent that cannot ask. */
export function modesOf(harness: HarnessInfo | undefined): PermissionMode[] {
  const { supportsDecisions = true, supportsReadOnly = true } = harness?.capabilities ?? {}
  return [
    ...(supportsDecisions ? (['default', 'acceptEdits'] as const) : []),
    'dontAsk',
    ...(supportsReadOnly ? (['plan'] as const) : []),
  ]
}

export function modeOf({ settings }: StoredSession): PermissionMode {
  return settings.permissionMode ?? 'default'
}

function select(
  id: string,
  name: string,
  choice: Pick<ConfigOption, 'currentValue' | 'options'>,
): ConfigOption {
  return { id, name, category: id, type: 'select', ...choice }
}
