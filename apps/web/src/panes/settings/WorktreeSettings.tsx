import type { CallInputs, CallOutputs } from '@chirality/client'
import { visibleText } from '@chirality/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Form, TextField } from '../../ui/controls/Form.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { useProjectChoice } from './ProjectChoice.tsx'
import { SettingsHead } from './SettingsHead.tsx'
import { linesOf, namedValues } from './tool-server-text.ts'

type ShownSetup = CallOutputs['worktrees']['setup']
type WorktreeSetup = NonNullable<CallInputs['worktrees']['saveSetup']['setup']>

/** Set-up of new worktrees of a project, beside the files that git checks out. */
export function WorktreeSettings() {
  const client = useClient()
  const queries = useQueryClient()
  const [taken, setTaken] = useState<{ setup: WorktreeSetup; times: number } | null>(null)
  const [isTyped, setTyped] = useState(false)
  const { project, field, placeholder } = useProjectChoice(() => {
    setTaken(null)
    setTyped(false)
  })
  const { data, error } = useQuery(
    client.worktrees.setup.queryOptions(
      { project },
      {
        enabled: project !== '',
        staleTime: 0,
        gcTime: 0,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
      },
    ),
  )
  const own = data?.own?.isGood ? data.own.setup : null
  return (
    <>
      <SettingsHead
        title="Worktrees"
        about="git checks out only what is committed. This is what else a new worktree gets, before its first turn."
      />
      {field}
      {placeholder({ isRead: data !== undefined, error, lines: 6, label: 'Reading the set-up' })}
      {data ? (
        <>
          {data.own && !data.own.isGood ? (
            <p className="form__bad" role="alert">
              {`${data.own.problem} Save it again, or remove it.`}
            </p>
          ) : null}
          {data.file ? (
            <ProjectFile
              file={data.file}
              isUsed={data.own === null}
              isTaken={taken !== null}
              isTyped={isTyped}
              onTake={setup => {
                setTaken(before => ({ setup, times: (before?.times ?? 0) + 1 }))
                setTyped(false)
              }}
            />
          ) : null}
          <SetupForm
            key={JSON.stringify([project, own, taken])}
            project={project}
            first={taken?.setup ?? own ?? NOTHING}
            hasOwn={data.own !== null}
            onTyped={() => setTyped(true)}
            onSaved={next => {
              setTaken(null)
              setTyped(false)
              queries.setQueryData(client.worktrees.setup.queryKey({ project }), next)
            }}
          />
        </>
      ) : null}
    </>
  )
}

const NOTHING: WorktreeSetup = { copy: [], share: [], clone: [], minutes: 10, variables: {} }

type SetupFile = NonNullable<ShownSetup['file']>

/** Set-up file of the project, and the button that takes it over. */
function ProjectFile(props: {
  file: SetupFile
  isUsed: boolean
  isTaken: boolean
  /** The form below has text that is not saved. */
  isTyped: boolean
  onTake(setup: WorktreeSetup): void
}) {
  const { file, isUsed, isTaken, isTyped, onTake } = props
  const { read } = file
  return (
    <section className="settings__card settings__card--padded form" aria-label="Of the project itself">
      <p>
        {isUsed
          ? 'This project has a set-up of its own. Nothing of it is done until you allowed exactly this text: the first turn in a worktree asks. A set-up that you save below takes its place.'
          : 'This project has a set-up of its own. It is not used, because yours takes its place. Remove yours to use it.'}
      </p>
      <details open={isTaken}>
        <summary>.chirality/workspace.yaml</summary>
        <pre className="tool-server__words">{visibleText(file.text)}</pre>
      </details>
      {!read.isGood ? (
        <p className="form__bad">{visibleText(read.problem)}</p>
      ) : hasLineBreaks(read.setup) ? (
        <p>It cannot be copied into yours: a path or a value of it has a line break.</p>
      ) : (
        <div className="form__foot">
          <Button onClick={() => onTake(read.setup)}>
            {isTyped ? 'Replace what you typed with it' : 'Copy it into yours'}
          </Button>
        </div>
      )}
    </section>
  )
}

/** In the form, each line would be a path or a variable of its own. */
function hasLineBreaks({ copy, share, clone, variables }: WorktreeSetup): boolean {
  return [...copy, ...share, ...clone, ...Object.values(variables)].some(text => /[\r\n]/.test(text))
}

function SetupForm(props: {
  project: string
  first: WorktreeSetup
  hasOwn: boolean
  onTyped(): void
  onSaved(next: ShownSetup): void
}) {
  const { project, first, hasOwn, onTyped, onSaved } = props
  const client = useClient()
  const [form, setForm] = useState(() => textsOf(first))
  const [failure, setFailure] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const save = async (setup: WorktreeSetup | string | null) => {
    if (isBusy) return
    if (typeof setup === 'string') return setFailure(setup)
    setBusy(true)
    setFailure(null)
    try {
      const next = await client.worktrees.saveSetup.mutate({ project, setup })
      toasts.info(setup === null ? 'Removed your set-up' : 'Saved. New worktrees are set up with it.')
      onSaved(next)
    } catch (error) {
      setFailure(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  const field = (name: keyof Texts) => ({
    value: form[name],
    onChange: (value: string) => {
      onTyped()
      setForm(now => ({ ...now, [name]: value }))
    },
  })
  const lines = (name: keyof Texts) => ({ rows: rowsOf(form[name]), isCode: true, ...field(name) })
  return (
    <Form
      label="Your set-up"
      className="settings__card settings__card--padded"
      failure={failure}
      onSend={() => void save(setupOf(form))}
      foot={
        <>
          {hasOwn ? (
            <Button disabled={isBusy} onClick={() => void save(null)}>
              Remove
            </Button>
          ) : null}
          <Button look="primary" type="submit" disabled={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <TextField
        label="Files to copy"
        hint="One a line, from the project's folder; * in the last part, such as .env*"
        {...lines('copy')}
      />
      <TextField
        label="Folders to share"
        hint="The project's own, by a link, such as node_modules. git has to ignore them: what an agent installs there, the project has."
        {...lines('share')}
      />
      <TextField
        label="Folders to clone"
        hint="Each worktree gets a copy, 4 GiB at most."
        {...lines('clone')}
      />
      <TextField
        label="Command"
        hint="Run once in the new worktree, by /bin/sh. It is not asked about again."
        {...lines('command')}
      />
      <TextField label="Time limit of the command, in minutes" {...field('minutes')} />
      <TextField
        label="Variables"
        hint="NAME=value, one a line, for the command and the agent. {port} is a free port, another one for each worktree; {name} is the name of the worktree."
        {...lines('variables')}
      />
    </Form>
  )
}

/** So that all of a text is seen: what was copied, too, is run. */
function rowsOf(text: string): number {
  const rows = text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 40)), 0)
  return Math.min(Math.max(rows, 2), 30)
}

type Texts = Record<keyof WorktreeSetup, string>

function textsOf({ copy, share, clone, command = '', minutes, variables }: WorktreeSetup): Texts {
  const [copies, shares, clones] = [copy, share, clone].map(list => list.join('\n'))
  const values = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  return {
    copy: copies ?? '',
    share: shares ?? '',
    clone: clones ?? '',
    command,
    minutes: String(minutes),
    variables: values.join('\n'),
  }
}

/** A text where the form says nothing that can be used. */
function setupOf({ command, ...form }: Texts): WorktreeSetup | string {
  const variables = namedValues(form.variables)
  if (typeof variables === 'string') return variables
  const minutes = Number(form.minutes)
  if (form.minutes.trim() === '' || !Number.isFinite(minutes))
    return 'The time limit is a number of minutes, such as 10.'
  const [copy, share, clone] = [linesOf(form.copy), linesOf(form.share), linesOf(form.clone)]
  return { copy, share, clone, minutes, variables, ...(command.trim() === '' ? {} : { command }) }
}
