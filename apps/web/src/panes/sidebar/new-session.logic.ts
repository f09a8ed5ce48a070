import type { PermissionMode, SessionMode } from '@chirality/core'
import type { HarnessInfo, NewSessionOptions } from '../../state/server-api.ts'

export interface NewSessionForm {
  project: string
  harness: string
  persona: string
  mode: SessionMode
  model: string
  thinking: '' | 'low' | 'med' | 'high'
  permissionMode: PermissionMode | ''
  budget: string
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
}

/** What can be chosen with this harness: nothing is offered that it cannot do. */
export function offers(harness: HarnessInfo | undefined) {
  const can = harness?.capabilities
  return {
    models: harness?.models ?? [],
    persona: can?.supportsAppendSystemPrompt === true || can?.supportsSystemPrompt === true,
    budget: can?.supportsBudget === true || can?.supportsCostTracking === true,
    permissionModes: permissionModes(harness),
  }
}

/** Modes in which somebody is asked make no sense with an agent that cannot ask. */
function permissionModes(harness: HarnessInfo | undefined): PermissionMode[] {
  if (!harness) return []
  const { supportsDecisions, supportsReadOnly } = harness.capabilities
  return [
    ...(supportsDecisions ? (['default', 'acceptEdits'] as const) : []),
    'dontAsk' as const,
    ...(supportsReadOnly ? (['plan'] as const) : []),
    'bypassPermissions' as const,
  ]
}

/** Only what was chosen; the rest is the server's to decide. */
export function toOptions(form: NewSessionForm, harness: HarnessInfo | undefined): NewSessionOptions {
  const can = offers(harness)
  const budgetUsd = Number.parseFloat(form.budget)
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
  }
}
