import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../state/use-api.ts'
import { Button } from '../../ui/Button.tsx'
import { messageOf } from '../../ui/error-message.ts'
import { Field } from '../../ui/Field.tsx'

/** Says that agents may work in a folder. */
export function AddProject({ onAdded, open = false }: { onAdded(root: string): void; open?: boolean }) {
  const api = useApi()
  const queries = useQueryClient()
  const [shown, setShown] = useState(false)
  const [path, setPath] = useState('')
  const [problem, setProblem] = useState<string>()
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
    <Field label="Folder on this machine" hint={problem}>
      {id => (
        <div className="new-session__row">
          <input
            id={id}
            className="input input--code"
            value={path}
            placeholder="/home/you/project"
            onChange={event => setPath(event.target.value)}
            onKeyDown={event => {
              if (event.key !== 'Enter') return
              event.preventDefault()
              void add()
            }}
          />
          <Button disabled={path.trim() === ''} onClick={() => void add()}>
            Add
          </Button>
        </div>
      )}
    </Field>
  )
}
