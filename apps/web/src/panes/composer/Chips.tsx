import type { CallInputs } from '@chirality/client'
import { MODE_WORDS, PERMISSION_WORDS, permissionLabel, SESSION_MODES } from '@chirality/core'
import { useEffect, useState } from 'react'
import { useHarnessLabel } from '../../app/labels.ts'
import { useShell } from '../../app/shell/shell-context.ts'
import type { HarnessInfo, SessionStatus } from '../../state/server/answers.ts'
import { useClient, useOffered, usePersonas } from '../../state/server/use-client.ts'
import { usePermissionMode, useSettings, useSettingsChanged } from '../../state/session/use-settings.ts'
import { Menu, type MenuItem } from '../../ui/controls/Menu.tsx'
import { Picker, type SelectOption } from '../../ui/controls/Picker.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCount, formatUsd } from '../../ui/text/format.ts'
import { EFFORTS, type Effort, type KeptMode, offers } from '../sidebar/new-session.logic.ts'

type SessionChanges = Omit<CallInputs['sessions']['configure'], 'sessionId'>

interface ChipsProps {
  status: SessionStatus
  harness: HarnessInfo | undefined
  busy: boolean
  /** The next message runs without asking anybody. */
  unchecked: boolean
  onUnchecked(unchecked: boolean): void
}

/** Settings of the session. A change applies at once where the agent can, else from the next message. */
export function Chips({ status, harness: known, busy, unchecked, onUnchecked }: ChipsProps) {
  const client = useClient()
  const shell = useShell()
  const { sessionId } = status
  const settings = useSettings(sessionId)
  const changed = useSettingsChanged(sessionId)
  const label = useHarnessLabel(status.harness)
  const { harness, ask } = useOffered(known, status.projectRoot)
  const models = useModels(status, harness)
  const { efforts } = offers(harness, { ...settings, model: models.value })
  const [later, setLater] = useState<readonly string[]>([])
  useEffect(() => {
    if (!busy) setLater([])
  }, [busy])
  const failed = (error: unknown) => toasts.error(messageOf(error), sessionId)
  /** A turn that runs goes on as it began: that is said until it is over. */
  const tellLater = (words: string) =>
    setLater(known => [...known.filter(one => one.split(':')[0] !== words.split(':')[0]), words])
  const configure = (changes: SessionChanges, words: string) =>
    void client.sessions.configure.mutate({ sessionId, ...changes }).then(() => {
      changed()
      if (busy) tellLater(words)
    }, failed)
  const effort = EFFORTS.find(({ value }) => value === (settings.thinking ?? ''))
  const whenOf = (what: string) => (busy ? `${what}, from the next message` : what)
  const modeOptions = SESSION_MODES.map(mode => ({
    value: mode,
    label: MODE_WORDS[mode].label,
    detail: MODE_WORDS[mode].consequence,
  }))
  return (
    <>
      <PermissionChip
        {...{ status, harness, unchecked, onUnchecked }}
        model={models.value}
        onOpen={ask}
        onLater={words => (busy ? tellLater(words) : undefined)}
      />
      {models.options.length > 0 ? (
        <Picker
          label="Model"
          icon="bot"
          title={models.fixedBy ? `The persona ${models.fixedBy} names its model` : whenOf('Model')}
          value={models.value}
          options={models.options}
          disabled={models.fixedBy !== null}
          onOpen={ask}
          onChange={model =>
            configure(
              { model },
              `Model: ${models.options.find(({ value }) => value === model)?.label ?? model}`,
            )
          }
        />
      ) : null}
      <Picker<Effort>
        label="Effort"
        icon="think"
        title={whenOf('Effort')}
        value={settings.thinking ?? ''}
        options={efforts}
        onOpen={ask}
        short={effort?.value ? `effort ${effort.label}` : 'default effort'}
        onChange={chosen =>
          configure(
            { thinking: chosen === '' ? null : chosen },
            `Effort: ${EFFORTS.find(({ value }) => value === chosen)?.label}`,
          )
        }
      />
      <Picker
        label="Mode"
        icon="comment"
        title={whenOf('Mode')}
        value={status.mode}
        options={modeOptions}
        onChange={mode => configure({ mode }, `Mode: ${MODE_WORDS[mode].label}`)}
      />
      <button
        type="button"
        className="picker"
        aria-label={`Limits: ${limitWords(status)}`}
        title="What the session may spend, and how many steps a turn may take"
        onClick={() => shell.open({ kind: 'limits', sessionId })}
      >
        <Icon name="usage" />
        <span className="truncate">{limitWords(status)}</span>
      </button>
      {status.persona ? <span className="chip-fact">{status.persona}</span> : null}
      <span className="chip-fact only-wide">{label}</span>
      {later.length > 0 ? (
        <span className="chips__later" role="status">
          {`From the next message: ${later.map(words => words.replace(': ', ' ').toLowerCase()).join(', ')}`}
        </span>
      ) : null}
    </>
  )
}

interface PermissionChipProps extends Omit<ChipsProps, 'busy'> {
  model: string
  onOpen(): void
  onLater(words: string): void
}

function PermissionChip(props: PermissionChipProps) {
  const { status, harness, model, unchecked, onUnchecked, onLater, onOpen } = props
  const client = useClient()
  const { sessionId } = status
  const mode = usePermissionMode(sessionId)
  const changed = useSettingsChanged(sessionId)
  const setMode = (chosen: KeptMode) => {
    onUnchecked(false)
    client.turns.setPermissionMode.mutate({ sessionId, mode: chosen }).then(
      ({ from }) => {
        changed()
        if (from === 'next-turn') onLater(`Permissions: ${PERMISSION_WORDS[chosen].label}`)
      },
      (error: unknown) => toasts.error(messageOf(error), sessionId),
    )
  }
  const everything = PERMISSION_WORDS.bypassPermissions
  const items: MenuItem[] = [
    ...offers(harness, { model, permissionMode: mode }).permissionModes.map(kept => ({
      label: PERMISSION_WORDS[kept].label,
      detail: PERMISSION_WORDS[kept].consequence,
      checked: !unchecked && kept === mode,
      onSelect: () => setMode(kept),
    })),
    {
      label: `${everything.label}, for the next message`,
      detail: everything.consequence,
      checked: unchecked,
      danger: true,
      onSelect: () => onUnchecked(true),
    },
  ]
  const words = unchecked ? `${everything.label}: next message` : permissionLabel(mode)
  return (
    <Menu
      trigger={
        <button
          type="button"
          className={unchecked ? 'picker picker--danger' : 'picker'}
          aria-label={`Permissions: ${words}`}
        >
          <Icon name="shield" />
          <span className="truncate">{words}</span>
          <span className="picker__arrow">
            <Icon name="down" size={13} />
          </span>
        </button>
      }
      items={items}
      onOpen={onOpen}
      title="What may it do without asking you?"
    />
  )
}

/** A model that a persona names is the one that runs, whatever is chosen here. */
function useModels(status: SessionStatus, harness: HarnessInfo | undefined) {
  const { projectRoot, persona } = status
  const settings = useSettings(status.sessionId)
  const personas = usePersonas(projectRoot, { enabled: persona !== null }).data
  const named = personas?.find(({ id }) => id === persona)
  const isNamed = named?.model != null && (named.harness === null || named.harness === status.harness)
  const models = harness?.models ?? []
  const value =
    (isNamed ? named.model : settings.model) ?? models.find(({ isDefault }) => isDefault)?.id ?? ''
  const options: SelectOption<string>[] = models.map(({ id, label, isDefault }) => ({
    value: id,
    label: isDefault && label === 'Default' ? 'Default model' : label,
  }))
  const isListed = value === '' || options.some(option => option.value === value)
  return {
    value,
    options: isListed ? options : [...options, { value, label: value }],
    fixedBy: isNamed ? persona : null,
  }
}

function limitWords({ budgetUsd, budgetTokens, budgetMinutes }: SessionStatus): string {
  if (budgetUsd !== null) return `budget ${formatUsd(budgetUsd)}`
  if (budgetTokens !== null) return `budget ${formatCount(budgetTokens)} tokens`
  return budgetMinutes === null ? 'no budget' : `budget ${budgetMinutes} min`
}
