import { expect, test } from 'vitest'
import { type AcpSettings, readSettings } from './agent-settings.ts'

const models = (currentModelId: string) => ({
  currentModelId,
  availableModels: [{ modelId: 'small' }, { modelId: 'large' }],
})
const effort = { id: 'effort', category: 'thought_level', type: 'select', currentValue: 'low', options: [] }
const modelIn = ({ options }: AcpSettings) => options.filter(({ category }) => category === 'model')

test('a model with a method of its own stays when the options are told again, and is the one that was told last', () => {
  const settings: AcpSettings = { modes: [], options: [] }
  readSettings(settings, { models: models('small'), configOptions: [effort] })
  readSettings(settings, { configOptions: [effort] })
  expect(modelIn(settings)).toMatchObject([{ id: null, value: 'small' }])
  readSettings(settings, { models: models('large') })
  expect(modelIn(settings)).toMatchObject([{ id: null, value: 'large' }])
  expect(settings.options).toHaveLength(2)
})

test('a model among the options is preferred to one with a method of its own', () => {
  const settings: AcpSettings = { modes: [], options: [] }
  readSettings(settings, { models: models('small') })
  const model = { ...effort, id: 'model', category: 'model', currentValue: 'large' }
  readSettings(settings, { configOptions: [model] })
  expect(modelIn(settings)).toMatchObject([{ id: 'model', value: 'large' }])
})
