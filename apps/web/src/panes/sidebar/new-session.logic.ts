import type { CallInputs } from '@chirality/client'
import type {
  HarnessInstallStatus,
  HarnessModel,
  PermissionMode,
  SessionMode,
  ThinkingLevel,
} from '@chirality/core'
import type { HarnessInfo } from '../../state/server/answers.ts'
import type { SelectOption } from '../../ui/controls/Picker.tsx'

type NewSessionOptions = Omit<CallInputs['sessions']['create'], 'project'>

/** Nothing is asked in `bypassPermissions`: it is given with one message, never kept as a setting. */
export type KeptMode = Exclude<PermissionMode, 'bypassPermissions'>
export type Effort = '' | ThinkingLevel

export const EFFORTS: readonly { value: Effort; label: string }[] = [
  { value: '', label: 'its default' },
  { value: 'low', label: 'low' },
  { value: 'med', label: 'medium' },
  { value: 'high', label: 'high' },
  { value: 'xhigh', label: 'extra high' },
  { value: 'max', label: 'max' },
  { value: 'ultracode', label: 'ultracode' },
]

/** The efforts that every agent has. */
const USUAL: readonly Effort[] = ['low', 'med', 'high']

export interface NewSessionForm {
  project: string
  harness: string
  persona: string
  mode: SessionMode
  model: string
  thinking: Effort
  permissionMode: KeptMode | ''
  budget: string
  maxTurns: string
}

export const EMPTY_FORM: NewSessionForm = {
  project: '',
  harness: '',
  persona: '',
  mode: 'workbench',
  model: '',
  thinking: '',
  permissionMode: '',
  budget: '',
  maxTurns: '',
}

/** Current choices: they stay in the lists, whatever the agent says of its models. */
interface Chosen {
  model?: string | undefined
  thinking?: Effort | undefined
  /** Stored text, which may be any. */
  permissionMode?: string | undefined
}

/** Options of this harness and model: nothing is offered that it cannot do. */
export function offers(harness: HarnessInfo | undefined, chosen: Chosen = {}) {
  const can = harness?.capabilities
  const model = modelOf(harness, chosen.model)
  const efforts = model?.efforts ?? USUAL
  return {
    models: harness?.models ?? [],
    persona: can?.supportsAppendSystemPrompt === true || can?.supportsSystemPrompt === true,
    budget: can?.supportsBudget === true || can?.supportsCostTracking === true,
    maxTurns: can?.supportsMaxTurns === true,
    permissionModes: permissionModes(
      harness,
      model?.supportsAutoMode === true || chosen.permissionMode === 'auto',
    ),
    efforts: EFFORTS.filter(
      ({ value }) => value === '' || value === chosen.thinking || efforts.includes(value),
    ),
  }
}

/** Modes in which somebody is asked make no sense with an agent that cannot ask. The first is what it does by itself. */
function permissionModes(harness: HarnessInfo | undefined, hasAuto: boolean): KeptMode[] {
  if (!harness) return []
  const { supportsDecisions, supportsReadOnly } = harness.capabilities
  return [
    ...(supportsDecisions ? (['default', 'acceptEdits'] as const) : []),
    ...(hasAuto ? (['auto'] as const) : []),
    'dontAsk' as const,
    ...(supportsReadOnly ? (['plan'] as const) : []),
  ]
}

function modelOf(harness: HarnessInfo | undefined, id = ''): HarnessModel | undefined {
  return harness?.models.find(model => (id === '' ? model.isDefault : model.id === id))
}

/** The default first, under its own name where that says something. */
export function modelOptions(models: readonly HarnessModel[]): SelectOption<string>[] {
  const standard = models.find(({ isDefault }) => isDefault)
  const name = standard && standard.label !== 'Default' ? `, ${standard.label}` : ''
  const others = models.filter(model => model !== standard)
  return [
    { value: '', label: `its default${name}` },
    ...others.map(({ id, label }) => ({ value: id, label })),
  ]
}

/** Name of an agent, with the reason in a word or two if it cannot be used. */
export function agentLabel(
  { name, label = name }: HarnessInfo,
  status: HarnessInstallStatus | undefined,
): string {
  if (status?.support === 'too-old') return `${label} (too old)`
  if (!status || (status.installed && status.authenticated)) return label
  return `${label} (${status.installed ? 'not logged in' : 'not installed'})`
}

/** Only what was chosen; the rest is the server's to decide. */
export function toOptions(form: NewSessionForm, harness: HarnessInfo | undefined): NewSessionOptions {
  const can = offers(harness, form)
  const budgetUsd = Number.parseFloat(form.budget)
  const maxTurns = Number.parseInt(form.maxTurns, 10)
  return {
    mode: form.mode,
    ...(form.harness ? { harness: form.harness } : {}),
    ...(form.persona && can.persona ? { persona: form.persona } : {}),
    ...(form.model && can.models.some(({ id }) => id === form.model) ? { model: form.model } : {}),
    ...(form.thinking ? { thinking: form.thinking } : {}),
    ...(form.permissionMode && can.permissionModes.includes(form.permissionMode)
      ? { permissionMode: form.permissionMode }
      : {}),
    ...(can.budget && budgetUsd > 0 ? { budgetUsd } : {}),
    ...(can.maxTurns && maxTurns > 0 ? { maxTurns } : {}),
  }
}
