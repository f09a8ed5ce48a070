import { asObject } from '../common/json.ts'

/** The modes and options of a conversation. */
export interface AcpSettings {
  mode?: string
  modes: string[]
  options: AcpOption[]
}

export interface AcpOption {
  /** Null for the model of an agent that has a method of its own for it. */
  id: string | null
  category: string
  value: string
  values: { value: string; name: string }[]
}

/** Takes over what an answer or an update says of modes and options. */
export function readSettings(settings: AcpSettings, said: Record<string, unknown>): void {
  const { currentModeId, availableModes } = asObject(said.modes)
  if (Array.isArray(availableModes))
    settings.modes = availableModes.flatMap(mode => {
      const { id } = asObject(mode)
      return typeof id === 'string' ? [id] : []
    })
  if (typeof currentModeId === 'string') settings.mode = currentModeId
  // The model with a method of its own is not among the options, and stays when these are told again.
  const own = modelOption(said.models) ?? settings.options.find(({ id }) => id === null)
  if (Array.isArray(said.configOptions)) settings.options = said.configOptions.flatMap(readOption)
  settings.options = settings.options.filter(({ id }) => id !== null)
  if (own && !settings.options.some(({ category }) => category === 'model')) settings.options.push(own)
  const mode = settings.options.find(({ category }) => category === 'mode')
  if (mode && settings.modes.length === 0) settings.modes = mode.values.map(({ value }) => value)
  if (mode) settings.mode = mode.value
}

function readOption(value: unknown): AcpOption[] {
  const { id, category, type, currentValue, options } = asObject(value)
  if (typeof id !== 'string' || type !== 'select' || !Array.isArray(options)) return []
  const flat: unknown[] = options.flatMap(option => {
    const group = asObject(option).options
    return Array.isArray(group) ? group : [option]
  })
  const values = flat.flatMap(option => {
    const { value: own, name } = asObject(option)
    return typeof own === 'string' ? [{ value: own, name: typeof name === 'string' ? name : own }] : []
  })
  return [{ id, category: String(category ?? id), value: String(currentValue ?? ''), values }]
}

/** The list of models that agents gave before there were options. */
function modelOption(value: unknown): AcpOption | undefined {
  const { currentModelId, availableModels } = asObject(value)
  if (!Array.isArray(availableModels)) return undefined
  const values = availableModels.flatMap(model => {
    const { modelId, name } = asObject(model)
    return typeof modelId === 'string'
      ? [{ value: modelId, name: typeof name === 'string' ? name : modelId }]
      : []
  })
  return { id: null, category: 'model', value: String(currentModelId ?? ''), values }
}
