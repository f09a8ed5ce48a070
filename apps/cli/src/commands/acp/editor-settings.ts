import type { HarnessInfo } from '@chirality/centre'
import { PERMISSION_WORDS, type PermissionMode, type ThinkingLevel } from '@chirality/core'
import type { CallOutputs } from '@chirality/server'
import type { JsonObject } from './editor-connection.ts'

type StoredSession = CallOutputs['sessions']['get']
type Models = CallOutputs['harnesses']['models']

/** What the settings of a session in an editor depend on. */
export interface SetSession {
  stored: StoredSession
  harness: HarnessInfo | undefined
  /** As the agent names them. */
  models: Models
}

/** The settings of a session as the answer to opening it has them. */
export function settingsOf(session: SetSession): JsonObject {
  const { stored } = session
  const availableModes = modesOf(session).map(id => ({
    ...{ id, name: PERMISSION_WORDS[id].label, description: PERMISSION_WORDS[id].consequence },
  }))
  return {
    modes: { currentModeId: modeOf(stored), availableModes },
    ...modelsOf(session),
    configOptions: configOptions(session),
  }
}

/** For editors of earlier versions of the protocol, which know no option for it. */
function modelsOf(session: SetSession): JsonObject {
  const option = configOptions(session).find(({ id }) => id === 'model')
  if (option === undefined) return {}
  const availableModels = option.options.map(({ value, ...words }) => ({ modelId: value, ...words }))
  return { models: { currentModelId: option.currentValue, availableModels } }
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
export function configOptions(session: SetSession): ConfigOption[] {
  const { stored, harness, models: offered } = session
  const modes = modesOf(session).map(id => ({
    ...{ value: id, name: PERMISSION_WORDS[id].label, description: PERMISSION_WORDS[id].consequence },
  }))
  const models = offered.map(({ id, label, description }) => ({
    ...{ value: id, name: label, ...(description === undefined ? {} : { description }) },
  }))
  const model = stored.settings.model ?? standardOf(offered)?.id
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
    ...(harness === undefined
      ? []
      : [
          select('effort', 'Effort', {
            ...{ currentValue: effortOf(stored), options: effortsOf(session) },
            category: 'thought_level',
          }),
        ]),
  ]
}

const DEFAULT_EFFORT = 'default'

/** The setting of a session for a value of the option. */
export function thinkingOf(effort: string): ThinkingLevel | null {
  return EFFORTS.find(({ value }) => value === effort)?.level ?? null
}

function effortOf({ settings: { thinking } }: StoredSession): string {
  return thinking === 'med' ? 'medium' : (thinking ?? DEFAULT_EFFORT)
}

/** Those of the model that the session uses, as the agent names them; the three that every agent has, if it does not say. */
function effortsOf({ stored, models }: SetSession) {
  const { thinking, model } = stored.settings
  const named = chosenModel(models, model)?.efforts ?? ['low', 'med', 'high']
  return EFFORTS.filter(
    ({ level }) => level === undefined || named.includes(level) || level === thinking,
  ).map(({ level: _, ...option }) => option)
}

const EFFORTS: { level?: ThinkingLevel; value: string; name: string; description: string }[] = [
  { value: DEFAULT_EFFORT, name: 'Default', description: 'As the agent and the model have it' },
  { level: 'low', value: 'low', name: 'Low', description: 'Thinks little, answers fast' },
  { level: 'med', value: 'medium', name: 'Medium', description: 'Thinks where it helps' },
  { level: 'high', value: 'high', name: 'High', description: 'Thinks long about hard tasks' },
  { level: 'xhigh', value: 'xhigh', name: 'Extra high', description: 'Thinks longer, at a higher price' },
  { level: 'max', value: 'max', name: 'Max', description: 'Thinks as long as the model can' },
  {
    level: 'ultracode',
    value: 'ultracode',
    name: 'Ultracode',
    description: 'Extra high, with sub-agents that it plans by itself, at a much higher price',
  },
]

function standardOf(models: Models) {
  return models.find(({ isDefault }) => isDefault) ?? models[0]
}

function chosenModel(models: Models, id: string | undefined) {
  return id === undefined ? standardOf(models) : models.find(model => model.id === id)
}

/** Modes in which somebody is asked make no sense with an agent that cannot ask. */
export function modesOf({ stored, harness, models }: SetSession): PermissionMode[] {
  const { supportsDecisions = true, supportsReadOnly = true } = harness?.capabilities ?? {}
  const { permissionMode, model } = stored.settings
  const hasAuto = permissionMode === 'auto' || chosenModel(models, model)?.supportsAutoMode === true
  return [
    ...(supportsDecisions ? (['default', 'acceptEdits'] as const) : []),
    ...(hasAuto ? (['auto'] as const) : []),
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
  choice: Pick<ConfigOption, 'currentValue' | 'options'> & { category?: string },
): ConfigOption {
  return { id, name, category: id, type: 'select', ...choice }
}
