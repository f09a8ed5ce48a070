import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ShownSetup, WorktreeSetup } from '../../state/server/settings-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Form, TextField } from '../../ui/controls/Form.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Empty, Skeleton } from '../../ui/marks/Empty.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { visibleText } from '../trust/ProjectSettings.tsx'
import { SettingsHead } from './SettingsHead.tsx'
import { linesOf, namedValues } from './tool-server-text.ts'

/** What a new worktree of a project gets beside what git checks out. */
export function WorktreeSettings() {
  const api = useApi()
  const queries = useQueryClient()
  const known = useQuery({ queryKey: ['projects'], queryFn: () => api.projects() })
  const projects = known.data ?? []
  const [wanted, setWanted] = useState('')
  const [taken, setTaken] = useState<WorktreeSetup | null>(null)
  const project = projects.find(({ root }) => root === wanted)?.root ?? projects[0]?.root ?? ''
  const key = ['worktree-setup', project]
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: () => api.worktreeSetup(project),
    enabled: project !== '',
    // What is typed stays: another answer would be another form.
    ...{ staleTime: 0, gcTime: 0, retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false },
  })
  const own = data?.own?.isGood ? data.own.setup : null
  return (
    <>
      <SettingsHead
        title="Worktrees"
        about="git checks out only what is committed. This is what else a new worktree gets, before its first turn."
      />
      {known.isError ? <p role="alert">{messageOf(known.error)}</p> : null}
      {projects.length === 0 ? (
        known.isSuccess && <Empty title="No project yet">Add a folder on the start page.</Empty>
      ) : (
        <SelectField
          label="Project"
          value={project}
          onChange={root => {
            setTaken(null)
            setWanted(root)
          }}
          options={projects.map(({ root, name }) => ({ value: root, label: name, detail: root }))}
        />
      )}
      {error ? <p role="alert">{messageOf(error)}</p> : null}
      {(known.isPending || project !== '') && !data && !error ? (
        <Skeleton lines={6} label="Reading the set-up" />
      ) : null}
      {data ? (
        <>
          {data.own && !data.own.isGood ? (
            <p className="form__bad" role="alert">
              {`${data.own.problem} Save it again, or remove it.`}
            </p>
          ) : null}
          {data.file ? (
            <ProjectFile file={data.file} isUsed={data.own === null} onTake={setup => setTaken(setup)} />
          ) : null}
          <SetupForm
            key={JSON.stringify([project, own, taken])}
            {...{ project, first: taken ?? own ?? NOTHING, hasOwn: data.own !== null }}
            onSaved={next => {
              setTaken(null)
              queries.setQueryData(key, next)
            }}
          />
        </>
      ) : null}
    </>
  )
}

const NOTHING: WorktreeSetup = { copy: [], share: [], clone: [], minutes: 10, variables: {} }

type SetupFile = NonNullable<ShownSetup['file']>

/** What came with the project, and what becomes of it. */
function ProjectFile(props: { file: SetupFile; isUsed: boolean; onTake(setup: WorktreeSetup): void }) {
  const { file, isUsed, onTake } = props
  const { read } = file
  return (
    <section className="settings__card settings__card--padded form" aria-label="Of the project itself">
      <p>
        {isUsed
          ? 'This project has a set-up of its own. Nothing of it is done until you allowed exactly this text: the first turn in a worktree asks. A set-up that you save below takes its place.'
          : 'This project has a set-up of its own. It is not used, because yours takes its place. Remove yours to use it.'}
      </p>
      <details>
        <summary>.chirality/workspace.yaml</summary>
        <pre className="tool-server__words">{visibleText(file.text)}</pre>
      </details>
      {read.isGood ? (
        <div className="form__foot">
          <Button onClick={() => onTake(read.setup)}>Copy it into yours</Button>
        </div>
      ) : (
        <p className="form__bad">{visibleText(read.problem)}</p>
      )}
    </section>
  )
}

function SetupForm(props: {
  project: string
  first: WorktreeSetup
  hasOwn: boolean
  onSaved(next: ShownSetup): void
}) {
  const { project, first, hasOwn, onSaved } = props
  const api = useApi()
  const [form, setForm] = useState(() => textsOf(first))
  const [failure, setFailure] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const save = async (setup: WorktreeSetup | string | null) => {
    if (isBusy) return
    if (typeof setup === 'string') return setFailure(setup)
    setBusy(true)
    setFailure(null)
    try {
      const next = await api.saveWorktreeSetup(project, setup)
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
    onChange: (value: string) => setForm(now => ({ ...now, [name]: value })),
  })
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
        {...{ rows: 2, isCode: true, ...field('copy') }}
      />
      <TextField
        label="Folders to share"
        hint="The project's own, by a link, such as node_modules. git has to ignore them: what an agent installs there, the project has."
        {...{ rows: 2, isCode: true, ...field('share') }}
      />
      <TextField
        label="Folders to clone"
        hint="Each worktree gets a copy, 4 GiB at most."
        {...{ rows: 2, isCode: true, ...field('clone') }}
      />
      <TextField
        label="Command"
        hint="Run once in the new worktree, by /bin/sh. You typed it, so it is not asked about."
        {...{ rows: 2, isCode: true, ...field('command') }}
      />
      <TextField label="Time limit of the command, in minutes" {...field('minutes')} />
      <TextField
        label="Variables"
        hint="NAME=value, one a line, for the command and the agent. {port} is a free port, another one for each worktree; {name} is the name of the worktree."
        {...{ rows: 2, isCode: true, ...field('variables') }}
      />
    </Form>
  )
}

type Texts = Record<keyof WorktreeSetup, string>

function textsOf({ copy, share, clone, command = '', minutes, variables }: WorktreeSetup): Texts {
  const [copies, shares, clones] = [copy, share, clone].map(list => list.join('\n'))
  const values = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  return {
    ...{ copy: copies ?? '', share: shares ?? '', clone: clones ?? '', command },
    ...{ minutes: String(minutes), variables: values.join('\n') },
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
