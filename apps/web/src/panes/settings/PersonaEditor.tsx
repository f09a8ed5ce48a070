import type { CallOutputs } from '@chirality/client'
import { MODE_WORDS, SESSION_MODES, type SessionMode } from '@chirality/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { DiffView } from '../../diff/DiffView.tsx'
import { diffTexts } from '../../diff/file-diff.ts'
import type { PersonaDraft } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Skeleton } from '../../ui/marks/Empty.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Meter } from '../../ui/marks/Meter.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatCount } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { PersonaConsent } from '../persona/PersonaPane.tsx'
import { isPersonaId, linePlace, personaWords, sameLineEnds, TEMPLATE } from './persona-text.ts'

type PersonaSource = CallOutputs['personas']['source']
type PersonaChange = CallOutputs['personas']['save']

export interface PersonaEditorProps {
  project: string
  /** Null for a new one. */
  id: string | null
  onSaved(id: string): Promise<void>
  onRemoved(): Promise<void>
}

/** Reads the file, then edits it; a text that was not saved is still there when one comes back. */
export function PersonaEditor(props: PersonaEditorProps) {
  const { project, id } = props
  const client = useClient()
  const kept = unsaved.get(keyOf(props))
  const { data, error } = useQuery(
    client.personas.source.queryOptions(
      { project, id: id ?? '' },
      {
        enabled: id !== null && !kept,
        staleTime: 0,
        gcTime: 0,
        retry: false,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
      },
    ),
  )
  const source = kept?.source ?? (id === null ? NOTHING : data)
  if (error && !kept) return <p role="alert">{messageOf(error)}</p>
  if (source === undefined) return <Skeleton lines={8} label="Reading the persona" />
  return <Editor {...props} source={source} first={kept?.text ?? (id === null ? TEMPLATE : source.text)} />
}

/** Source of a file that does not exist yet. */
const NOTHING: { text: string; revision: string | null } = { text: '', revision: null }
type Source = typeof NOTHING

const unsaved = new Map<string, { source: Source; text: string }>()

function keyOf({ project, id }: Pick<PersonaEditorProps, 'project' | 'id'>): string {
  return JSON.stringify([project, id])
}

function Editor(props: PersonaEditorProps & { source: Source; first: string }) {
  const { project, id, onSaved, onRemoved } = props
  const client = useClient()
  const field = useRef<HTMLTextAreaElement>(null)
  const [source, setSource] = useState(props.source)
  const [text, setText] = useState(props.first)
  const [name, setName] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isRemoving, setRemoving] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const [other, setOther] = useState<{ current: PersonaSource | null } | null>(null)
  const key = keyOf(props)
  const isChanged = text !== source.text && sameLineEnds(text, source.text) !== source.text
  const target = id ?? name

  const type = (next: string) => {
    setText(next)
    if (id === null) return
    if (sameLineEnds(next, source.text) === source.text) unsaved.delete(key)
    else unsaved.set(key, { source, text: next })
  }
  const act = async (
    change: () => Promise<PersonaChange>,
    done: (change: PersonaChange) => Promise<void>,
  ) => {
    if (isBusy) return
    setBusy(true)
    setFault(null)
    try {
      const result = await change()
      if (result.kind === 'conflict') setOther({ current: result.current })
      else await done(result)
    } catch (error) {
      setFault(messageOf(error))
    } finally {
      setBusy(false)
      setRemoving(false)
    }
  }
  const save = (revision = source.revision) => {
    if (!isPersonaId(target)) {
      setFault('A name has letters, digits, "_" and "-", at most 64.')
      return
    }
    const written = sameLineEnds(text, source.text)
    void act(
      () => client.personas.save.mutate({ project, id: target, text: written, revision }),
      async change => {
        unsaved.delete(key)
        setOther(null)
        if (change.kind === 'done') setSource({ text: written, revision: change.revision })
        toasts.info(`Saved agents/AGENT_${target}.md`)
        await onSaved(target)
      },
    )
  }
  const remove = () =>
    void act(
      () => client.personas.remove.mutate({ project, id: target, revision: source.revision ?? '' }),
      async () => {
        unsaved.delete(key)
        toasts.info(`Deleted agents/AGENT_${target}.md`)
        await onRemoved()
      },
    )
  const takeOther = () => {
    unsaved.delete(key)
    if (other?.current) {
      setSource(other.current)
      setText(other.current.text)
      setOther(null)
    } else void onRemoved()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return
    event.preventDefault()
    if (isChanged) save()
  }
  const goTo = (line: number) => {
    const [start, end] = linePlace(text, line)
    field.current?.focus()
    field.current?.setSelectionRange(start, end)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the key that saves works in all fields of the editor
    <div className="personas__editor" onKeyDown={onKeyDown}>
      <div className="personas__file">
        {id === null ? (
          <Field label="Name" hint="It becomes agents/AGENT_<name>.md.">
            {fieldId => (
              <input
                id={fieldId}
                className="input"
                value={name}
                maxLength={64}
                onChange={event => setName(event.target.value.trim())}
              />
            )}
          </Field>
        ) : null}
        <Field label={id === null ? 'File' : `agents/AGENT_${id}.md`}>
          {fieldId => (
            <textarea
              id={fieldId}
              ref={field}
              className="input input--code personas__text"
              spellCheck={false}
              value={text}
              onChange={event => type(event.target.value)}
            />
          )}
        </Field>
        {fault ? (
          <p className="personas__bad" role="alert">
            {fault}
          </p>
        ) : null}
        {other ? (
          <Conflict
            path={`agents/AGENT_${target}.md`}
            {...{ mine: text, current: other.current, isBusy, onTake: takeOther }}
            onOverwrite={() => save(other.current?.revision ?? null)}
          />
        ) : null}
        <div className="personas__actions">
          {id !== null && !isRemoving ? (
            <Button disabled={isBusy} onClick={() => setRemoving(true)}>
              Delete
            </Button>
          ) : null}
          {isRemoving ? (
            <>
              <span>{`Delete agents/AGENT_${id}.md?`}</span>
              <Button onClick={() => setRemoving(false)}>Keep it</Button>
              <Button look="danger" disabled={isBusy} onClick={remove}>
                Delete the file
              </Button>
            </>
          ) : null}
          <span className="spacer" />
          <Button look="primary" disabled={isBusy || !isChanged || isRemoving} onClick={() => save()}>
            Save <Kbd>Ctrl S</Kbd>
          </Button>
        </div>
        {id !== null && !isChanged ? (
          <PersonaConsent key={source.revision} project={project} persona={id} />
        ) : null}
      </div>
      <Preview project={project} id={isPersonaId(target) ? target : 'NEW'} text={text} onLine={goTo} />
    </div>
  )
}

function Conflict(props: {
  path: string
  mine: string
  current: PersonaSource | null
  isBusy: boolean
  onTake(): void
  onOverwrite(): void
}) {
  const { path, mine, current, isBusy, onTake, onOverwrite } = props
  return (
    <section className="personas__conflict" aria-label="The file has changed">
      <p role="alert">
        {current
          ? 'The file was changed by somebody else since you opened it. Nothing was saved. Your text against the one on the disk:'
          : 'The file was deleted since you opened it. Nothing was saved.'}
      </p>
      {current ? <DiffView diff={diffTexts(path, current.text, sameLineEnds(mine, current.text))} /> : null}
      <div className="personas__actions">
        <Button disabled={isBusy} onClick={onTake}>
          {current ? 'Take the one on the disk' : 'Leave it deleted'}
        </Button>
        <Button look="danger" disabled={isBusy} onClick={onOverwrite}>
          {current ? 'Save mine over it' : 'Write it again'}
        </Button>
      </div>
    </section>
  )
}

/** Meaning of the text, by the parser that reads the file. */
function Preview(props: { project: string; id: string; text: string; onLine(line: number): void }) {
  const { project, id, onLine } = props
  const client = useClient()
  const text = useRested(props.text)
  const [mode, setMode] = useState<SessionMode>('workbench')
  const { data, error } = useQuery({
    queryKey: [...client.personas.check.mutationKey(), project, id, text, mode],
    queryFn: () => client.personas.check.mutate({ project, id, text, mode }),
    ...{ retry: false, staleTime: 0, gcTime: 0, placeholderData: keepPreviousData },
  })
  return (
    <section className="personas__preview" aria-label="Preview">
      <div role="status">
        {error ? <p className="personas__bad">{messageOf(error)}</p> : null}
        {data ? <Problems draft={data} onLine={onLine} /> : null}
      </div>
      {data?.persona ? (
        <>
          <h2>What it may do</h2>
          <dl className="personas__scope">
            {personaWords(data.persona).map(({ what, words }) => (
              <div key={what}>
                <dt>{what}</dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
          {data.unmet.map(line => (
            <p key={line} className="personas__note">
              {line}
            </p>
          ))}
        </>
      ) : null}
      {data ? (
        <>
          <h2>What it is told</h2>
          <SelectField<SessionMode>
            label="In a session that is to"
            value={mode}
            onChange={setMode}
            options={SESSION_MODES.map(value => ({
              value,
              label: MODE_WORDS[value].label,
              detail: MODE_WORDS[value].consequence,
            }))}
          />
          <p className="personas__meter">
            <Meter label="Tokens of the prompt" value={data.prompt.estimatedTokens} max={MAX_TOKENS} />
            <span className="number">{`~${formatCount(data.prompt.estimatedTokens)} of ${formatCount(MAX_TOKENS)} tokens`}</span>
          </p>
          {data.prompt.truncated.map(({ part }) => (
            <p key={part} className="personas__note">{`Cut to fit: ${part}`}</p>
          ))}
          {data.prompt.warnings.map(line => (
            <p key={line} className="personas__note">
              {line}
            </p>
          ))}
          <ScrollRegion className="personas__prompt" label="The prompt">
            <pre>{data.prompt.text}</pre>
          </ScrollRegion>
        </>
      ) : null}
    </section>
  )
}

/** The server cuts longer prompts to this. */
const MAX_TOKENS = 16_000

function Problems({ draft, onLine }: { draft: PersonaDraft; onLine(line: number): void }) {
  const all = [
    ...draft.problems.map(problem => ({ ...problem, tone: 'bad' })),
    ...draft.warnings.map(problem => ({ ...problem, tone: 'note' })),
  ]
  if (all.length === 0) return <p className="personas__good">This text can be used.</p>
  return (
    <>
      {draft.problems.length > 0 ? <p className="personas__bad">Not used until this is mended:</p> : null}
      <ul className="personas__problems">
        {all.map(({ line, message, tone }) => (
          <li key={`${line} ${message}`} className={`personas__${tone}`}>
            {line === undefined ? null : (
              <Button size="small" look="quiet" onClick={() => onLine(line)}>{`Line ${line}`}</Button>
            )}
            <span>{message}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The text once nobody has typed for a moment. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}

const REST_MS = 200
