import { PERMISSION_WORDS } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useShell } from '../../app/shell/shell-context.ts'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import { saveDraft, useDraft } from '../../state/kept/drafts.ts'
import { keepChoices, type LastChoices, lastChoices, lastProject } from '../../state/kept/last-choices.ts'
import { useClient, useHarnesses, useOffered } from '../../state/server/use-client.ts'
import { sendMessage } from '../../state/session/send-message.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { Picker } from '../../ui/controls/Picker.tsx'
import { dropKeys, onGoneTo } from '../../ui/keys/type-ahead.ts'
import { Words } from '../../ui/marks/Empty.tsx'
import { Icon } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { isAtDesk, takeFocus } from '../composer/take-focus.ts'
import { AddProject, droppedFolder } from '../sidebar/AddProject.tsx'
import {
  agentLabel,
  EMPTY_FORM,
  type KeptMode,
  modelOptions,
  offers,
  toOptions,
} from '../sidebar/new-session.logic.ts'
import { useWhere } from '../sidebar/use-where.ts'
import { useWorkspace, workspacesOn } from '../sidebar/use-workspace.ts'
import { installHelp } from './install-help.ts'

/** Under this name the text is kept until it is sent. */
const DRAFT = 'home'

/** Say what, choose where and who, press Enter. What was chosen last in a project is chosen again. */
export function HomeComposer(props: { project: string | undefined; demo: string | undefined }) {
  const shell = useShell()
  const text = useDraft(DRAFT)
  const field = useRef<HTMLTextAreaElement>(null)
  const [adding, setAdding] = useState(false)
  const [dropped, setDropped] = useState<string | null>(null)
  const start = useStart(props.project)
  const { root, projects, harness, harnesses, installed, can, choices, choose } = start
  const defaultModel = can.models.find(({ isDefault }) => isDefault)
  const status = installed?.[harness?.id ?? '']
  const help = harness && status ? installHelp(harness, status) : undefined
  // Pressed while it is not known yet which agents are there: it starts as soon as that is known.
  const [wanted, setWanted] = useState(false)
  const submit = () => (start.isReady ? void start.run(text) : setWanted(start.isChecking))
  useEffect(() => {
    if (!wanted || !start.isReady) return
    setWanted(false)
    void start.run(text)
  }, [wanted, start, text])
  // The demo's folder is no place for somebody's own work.
  const hasField = projects?.every(one => one.root === props.demo) !== true
  useEffect(() => {
    if (!hasField) return
    const take = () => takeFocus(field.current, DRAFT)
    take()
    return onGoneTo(take)
  }, [hasField])
  if (!hasField) return <FirstFolder onAdded={start.setRoot} />
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a folder is dropped here; the project picker does the same
    <div
      className="home-composer-box"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        const folder = droppedFolder(event)
        if (folder === null) return
        setDropped(folder)
        setAdding(true)
      }}
    >
      <form
        className="home-composer"
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <textarea
          ref={field}
          id="composer"
          className="home-composer__text"
          aria-label="What should be done?"
          placeholder="Say what should be done"
          rows={2}
          value={text}
          onChange={event => saveDraft(DRAFT, event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') field.current?.blur()
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            submit()
          }}
        />
        <div className="home-composer__bar">
          <Picker
            label="Project"
            icon="folder"
            look="strong"
            value={root}
            onChange={start.setRoot}
            options={(projects ?? []).map(({ root: folder, name, missing }) => ({
              value: folder,
              label: name,
              detail: missing ? 'The folder is gone.' : folder,
              disabled: missing,
            }))}
            actions={[{ label: 'Add a folder…', icon: 'folder-add', onSelect: () => setAdding(true) }]}
          />
          <Picker
            label="Agent"
            icon="bot"
            value={harness?.id ?? ''}
            onChange={id => choose({ harness: id, model: '' })}
            options={harnesses.map(info => ({
              value: info.id,
              label: agentLabel(info, installed?.[info.id]),
            }))}
          />
          <Picker
            label="Model"
            value={can.models.some(({ id }) => id === choices.model) ? (choices.model ?? '') : ''}
            onChange={model => choose({ model })}
            options={modelOptions(can.models)}
            onOpen={start.ask}
            {...(choices.model ? {} : { short: defaultModel?.label ?? 'Default model' })}
          />
          {can.permissionModes.length > 0 ? (
            <Picker<KeptMode>
              label="Permissions"
              icon="shield"
              value={start.permissionMode ?? 'default'}
              onOpen={start.ask}
              onChange={permissionMode => choose({ permissionMode })}
              options={can.permissionModes.map(mode => ({
                value: mode,
                label: PERMISSION_WORDS[mode].label,
                detail: PERMISSION_WORDS[mode].consequence,
              }))}
            />
          ) : null}
          {start.where ? (
            <Picker
              label="Where"
              icon="screen"
              value={start.where.value}
              onChange={start.setWanted}
              options={start.where.options}
            />
          ) : null}
          {start.workspaces.length > 0 ? (
            <Picker
              label="Works in"
              icon="branch"
              value={start.workspace}
              onChange={workspace => choose({ workspace })}
              options={start.workspaces}
            />
          ) : null}
          <span className="spacer" />
          <IconButton
            icon="more"
            label="More choices: persona, effort, budget"
            onClick={() => shell.open({ kind: 'new-session', project: root })}
          />
          <button
            type="submit"
            className="home-composer__send"
            aria-label="Start"
            title="Start"
            disabled={!start.isReady || text.trim() === ''}
          >
            <Icon name="send" size={17} />
          </button>
        </div>
      </form>
      {help ? (
        <p className="home-composer__help" role="status">
          {`${harness?.name} cannot work yet. `}
          {help.command ? (
            <>
              Run <code>{help.command}</code> in a terminal, then check again in Settings.
            </>
          ) : (
            <Words text={help.text ?? ''} />
          )}
        </p>
      ) : null}
      {adding ? (
        <AddProject
          open
          thenType
          dropped={dropped}
          onAdded={added => {
            start.setRoot(added)
            setDropped(null)
            setAdding(false)
            takeFocus(field.current, DRAFT)
          }}
        />
      ) : (
        <p className="home-composer__keys">
          <span>
            <Kbd>Enter</Kbd> start
          </span>
          <span>
            <Kbd>Shift Enter</Kbd> new line
          </span>
          <span>
            <Kbd>Ctrl K</Kbd> anything
          </span>
        </p>
      )}
    </div>
  )
}

function FirstFolder({ onAdded }: { onAdded(root: string): void }) {
  const box = useRef<HTMLDivElement>(null)
  // What was typed before was not meant for a folder.
  useEffect(() => {
    dropKeys()
    if (isAtDesk()) box.current?.querySelector('input')?.focus({ preventScroll: true })
  }, [])
  return (
    <div className="home-first" ref={box}>
      <p>
        An agent works in a folder of yours. Which one? You see all that it says and does, and it asks before
        it changes something.
      </p>
      <AddProject open thenType onAdded={onAdded} />
    </div>
  )
}

/** Choices of the start page, and the start of a session with them. */
function useStart(project: string | undefined) {
  const client = useClient()
  const navigate = useNavigate()
  const fleet = useFleetStore()
  const harnesses = useHarnesses()
  const projects = useQuery(client.projects.list.queryOptions()).data
  const { data: installed, isPending } = useQuery(client.harnesses.status.queryOptions())
  const [chosenRoot, setRoot] = useState(project ?? lastProject())
  const [changed, setChanged] = useState<Record<string, LastChoices>>({})
  const [busy, setBusy] = useState(false)
  const known = projects?.find(({ root, missing }) => root === chosenRoot && !missing)
  const root = known?.root ?? projects?.find(({ missing }) => !missing)?.root ?? ''
  const choices = changed[root] ?? lastChoices(root)
  const ready = harnesses.find(({ id }) => installed?.[id]?.installed && installed[id]?.authenticated)
  const found = harnesses.find(({ id }) => id === choices.harness) ?? ready ?? harnesses[0]
  const { harness, ask } = useOffered(found, root, choices.model)
  const can = offers(harness, choices)
  const here = useWorkspace(root, choices.workspace)
  // Not kept: a machine may be gone tomorrow.
  const [wanted, setWanted] = useState<string>()
  const where = useWhere(root, harness?.id, wanted)
  const elsewhere = where?.elsewhere
  const workspace = elsewhere ? (choices.workspace ?? 'folder') : here.workspace
  const workspaces = elsewhere ? workspacesOn(elsewhere.machine) : here.options
  const permissionMode =
    can.permissionModes.find(mode => mode === choices.permissionMode) ?? can.permissionModes[0]
  // Until it is known what is installed the agent that stands there may be one that cannot work.
  const isReady =
    !busy &&
    root !== '' &&
    harness !== undefined &&
    (choices.harness !== undefined || !isPending) &&
    !where?.waits &&
    (!wanted || where !== undefined)

  const isChecking = !busy && root !== '' && isPending

  const run = async (text: string) => {
    if (!isReady || text.trim() === '') return
    setBusy(true)
    try {
      if (!elsewhere) await client.projects.open.mutate({ project: root })
      const form = {
        ...EMPTY_FORM,
        harness: harness.id,
        model: choices.model ?? '',
        permissionMode: permissionMode ?? ('' as const),
      }
      // Its words name the branch.
      const inWorktree = (elsewhere ? workspace : await here.settle()) === 'worktree'
      const { id } = await client.sessions.create.mutate({
        project: elsewhere?.project ?? root,
        ...toOptions(form, harness),
        ...(elsewhere ? { machine: elsewhere.machine } : {}),
        ...(inWorktree ? { title: firstLine(text), worktree: {} } : {}),
      })
      const { workspace: kept } = choices
      keepChoices(root, {
        ...{ harness: harness.id, model: form.model, permissionMode: form.permissionMode },
        ...(kept ? { workspace: kept } : {}),
      })
      saveDraft(DRAFT, '')
      await sendMessage(client, id, { text }).catch((error: unknown) => {
        // The session is there, and the text goes with it.
        saveDraft(id, text)
        toasts.error(messageOf(error), id)
      })
      await storedSessions(client).then(
        stored => fleet.setStored(stored),
        () => undefined,
      )
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
    } catch (error) {
      toasts.error(messageOf(error))
    } finally {
      setBusy(false)
    }
  }

  const choose = (fields: LastChoices) =>
    setChanged(current => ({ ...current, [root]: { ...choices, ...fields } }))

  return {
    ...{ root, setRoot, projects, harness, harnesses, installed, can, choices, choose },
    ...{ permissionMode, isReady, isChecking, run, workspace, workspaces, where, setWanted, ask },
  }
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 60)
}
