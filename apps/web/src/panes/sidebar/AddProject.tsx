import { useQuery } from '@tanstack/react-query'
import { type DragEvent, useDeferredValue, useState } from 'react'
import { projectName } from '../../app/project.ts'
import { useAskAgain, useClient, useProjects } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { dropKeys, holdKeys } from '../../ui/keys/type-ahead.ts'
import { Icon } from '../../ui/marks/Icon.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

interface AddProjectProps {
  onAdded(root: string): void
  open?: boolean
  /** The name of a folder that was dropped on the page. */
  dropped?: string | null
  /** A field comes in its place, and gets what is typed from the moment that the folder is chosen. */
  thenType?: boolean
}

/** Says that agents may work in a folder: typed, found among the git repositories, or dropped. */
export function AddProject({ onAdded, open = false, dropped = null, thenType = false }: AddProjectProps) {
  const client = useClient()
  const askAgain = useAskAgain()
  const [shown, setShown] = useState(false)
  const [path, setPath] = useState('')
  const [problem, setProblem] = useState<string>()
  const [looking, setLooking] = useState(false)
  const [ownDrop, setOwnDrop] = useState<string | null>(null)
  const typed = useDeferredValue(path)
  const { data: folders = [] } = useQuery(
    client.projects.folders.queryOptions(
      { typed },
      { enabled: open || shown, placeholderData: before => before, gcTime: 0, retry: false },
    ),
  )
  const add = async (folder: string) => {
    if (thenType) holdKeys()
    try {
      const { root } = await client.projects.register.mutate({ path: folder })
      await askAgain(client.projects.list.queryFilter())
      setPath('')
      setShown(false)
      setLooking(false)
      setOwnDrop(null)
      onAdded(root)
    } catch (error) {
      dropKeys()
      setProblem(messageOf(error))
    }
  }
  if (!open && !shown) {
    return (
      <Button look="quiet" size="small" className="new-session__add" onClick={() => setShown(true)}>
        Add a folder…
      </Button>
    )
  }
  const name = ownDrop ?? dropped
  const offer = { onChoose: (folder: string) => void add(folder) }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a folder is dropped here; the field takes the same by typing
    <div
      className="add-project"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        const folder = droppedFolder(event)
        if (folder !== null) setOwnDrop(folder)
      }}
    >
      <Field label="Folder on this machine" hint={problem && <span role="alert">{problem}</span>}>
        {id => (
          <div className="new-session__row">
            <input
              id={id}
              className="input input--code"
              value={path}
              placeholder="~/project"
              list={`${id}-folders`}
              autoComplete="off"
              spellCheck={false}
              onChange={event => {
                setPath(event.target.value)
                setProblem(undefined)
              }}
              onKeyDown={event => {
                if (event.key !== 'Enter') return
                event.preventDefault()
                void add(path.trim())
              }}
            />
            <datalist id={`${id}-folders`}>
              {folders.map(folder => (
                <option key={folder} value={folder} />
              ))}
            </datalist>
            <Button disabled={path.trim() === ''} onClick={() => void add(path.trim())}>
              Add
            </Button>
          </div>
        )}
      </Field>
      {name !== null ? (
        <Dropped key={name} name={name} {...offer} />
      ) : looking ? (
        <Repositories {...offer} />
      ) : (
        <Button look="quiet" size="small" className="new-session__add" onClick={() => setLooking(true)}>
          <Icon name="branch" size={13} />
          Find git repositories
        </Button>
      )}
    </div>
  )
}

/** The name of the first folder among what was dropped. Files are somebody else's: null. */
export function droppedFolder(event: DragEvent): string | null {
  const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry())
  const folder = entries.find(entry => entry?.isDirectory)
  if (!folder) return null
  event.preventDefault()
  event.stopPropagation()
  return folder.name
}

interface OfferProps {
  onChoose(folder: string): void
}

function Repositories({ onChoose }: OfferProps) {
  const { found, isLooking, problem } = useRepositories()
  if (isLooking) return <Note>Looking under your home folder…</Note>
  if (problem) return <Note>{problem}</Note>
  if (found.length === 0)
    return <Note>No git repository was found under your home folder that is no project yet.</Note>
  return <Offers label="Git repositories under your home folder" folders={found} onChoose={onChoose} />
}

/** A browser tells the name of a dropped folder, not its place: those of that name are offered. */
function Dropped({ name, onChoose }: OfferProps & { name: string }) {
  const client = useClient()
  const projects = useProjects()
  const near = useQuery(client.projects.folders.queryOptions({ typed: `~/${name}` }))
  const { found, isLooking } = useRepositories()
  if (isLooking || near.isPending) return <Note>{`Looking for a folder named ${name}…`}</Note>
  const folders = [...projects.map(({ root }) => root), ...found, ...(near.data ?? [])]
    .map(folder => folder.replace(/\/$/, ''))
    .filter(folder => projectName(folder).toLowerCase() === name.toLowerCase())
  if (folders.length === 0)
    return (
      <Note>{`No folder named ${name} was found. A browser tells only the name of what is dropped: type where it is.`}</Note>
    )
  return <Offers label={`Folders named ${name}`} folders={[...new Set(folders)]} onChoose={onChoose} />
}

function Offers({ label, folders, onChoose }: OfferProps & { label: string; folders: readonly string[] }) {
  return (
    <div className="add-project__offers">
      <p className="field__hint">{label}</p>
      <ul aria-label={label}>
        {folders.map(folder => (
          <li key={folder}>
            <button type="button" className="add-project__offer" onClick={() => onChoose(folder)}>
              <Icon name="folder" size={14} />
              <span className="truncate">{projectName(folder)}</span>
              <code className="truncate">{folder}</code>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function Note({ children }: { children: string }) {
  return (
    <p className="field__hint" role="status">
      {children}
    </p>
  )
}

function useRepositories() {
  const client = useClient()
  const { data, isPending, error } = useQuery(
    client.projects.repositories.queryOptions(undefined, { staleTime: 0, retry: false }),
  )
  return { found: data ?? [], isLooking: isPending, problem: error ? messageOf(error) : null }
}
