import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useClient } from '../../state/server/use-client.ts'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Empty, Skeleton } from '../../ui/marks/Empty.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

export interface ProjectChoice {
  /** Its folder; empty while none is known. */
  project: string
  /** The projects are known, and there is none. */
  hasNone: boolean
  /** The field to choose with, or why there is nothing to choose. */
  field: ReactNode
  /** Placeholder for settings that are not read yet, or cannot be read. */
  placeholder(settings: { isRead: boolean; error: unknown; lines: number; label: string }): ReactNode
}

/** The project whose settings a page shows: the first one, until another is chosen. */
export function useProjectChoice(onChoose?: () => void): ProjectChoice {
  const client = useClient()
  const known = useQuery(client.projects.list.queryOptions())
  const [wanted, setWanted] = useState('')
  const projects = known.data ?? []
  const project = projects.find(({ root }) => root === wanted)?.root ?? projects[0]?.root ?? ''
  return {
    project,
    hasNone: known.isFetched && project === '',
    field: (
      <>
        {known.isError ? <p role="alert">{messageOf(known.error)}</p> : null}
        {projects.length === 0 ? (
          known.isSuccess && <Empty title="No project yet">Add a folder on the start page.</Empty>
        ) : (
          <SelectField
            label="Project"
            value={project}
            onChange={root => {
              setWanted(root)
              onChoose?.()
            }}
            options={projects.map(({ root, name }) => ({ value: root, label: name, detail: root }))}
          />
        )}
      </>
    ),
    placeholder: ({ isRead, error, lines, label }) => {
      if (error) return <p role="alert">{messageOf(error)}</p>
      return !isRead && (known.isPending || project !== '') ? <Skeleton lines={lines} label={label} /> : null
    },
  }
}
