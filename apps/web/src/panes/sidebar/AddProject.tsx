import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

/** Says that agents may work in a folder. */
export function AddProject({ onAdded, open = false }: { onAdded(root: string): void; open?: boolean }) {
  const api = useApi()
  const queries = useQueryClient()
  const [shown, setShown] = useState(false)
  const [path, setPath] = useState('')
  const [problem, setProblem] = useState<string>()
  const typed = useDeferredValue(path)
  const { data: folders = [] } = useQuery({
    queryKey: ['folders', typed],
    queryFn: () => api.completeFolder(typed),
    enabled: open || shown,
    placeholderData: before => before,
    gcTime: 0,
    retry: false,
  })
  const add = async () => {
    try {
      const { root } = await api.registerProject(path.trim())
      await queries.invalidateQueries({ queryKey: ['projects'] })
      setPath('')
      setShown(false)
      onAdded(root)
    } catch (error) {
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
  return (
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
              void add()
            }}
          />
          <datalist id={`${id}-folders`}>
            {folders.map(folder => (
              <option key={folder} value={folder} />
            ))}
          </datalist>
          <Button disabled={path.trim() === ''} onClick={() => void add()}>
            Add
          </Button>
        </div>
      )}
    </Field>
  )
}
