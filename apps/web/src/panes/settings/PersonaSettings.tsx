import { useState } from 'react'
import { type PersonaInfo, useAskAgain, useClient, usePersonas } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Empty } from '../../ui/marks/Empty.tsx'
import { PersonaEditor } from './PersonaEditor.tsx'
import { useProjectChoice } from './ProjectChoice.tsx'
import { SettingsHead } from './SettingsHead.tsx'
import './personas.css'

/** The personas of a project: each is a file, and the file is what is edited. */
export function PersonaSettings() {
  const client = useClient()
  const askAgain = useAskAgain()
  const [chosen, setChosen] = useState<string | null>(null)
  const { project, hasNone, field, placeholder } = useProjectChoice(() => setChosen(null))
  const { data, error } = usePersonas(project, { staleTime: 0, retry: false })
  // A folder that cannot be read has no id.
  const personas = data?.filter(({ id }) => id !== '') ?? []
  const unreadable = data?.find(({ id }) => id === '')?.error
  const shown =
    chosen === NEW ? NEW : (personas.find(({ id }) => id === chosen)?.id ?? personas[0]?.id ?? null)
  const refresh = () => {
    const { list, consent, prompt } = client.personas
    return askAgain(list.queryFilter(), consent.queryFilter(), prompt.queryFilter())
  }
  return (
    <>
      <SettingsHead
        title="Personas"
        about="What an agent is told, and what it may do. Kept as files in the project, so they travel with it."
      >
        <Button disabled={hasNone} onClick={() => setChosen(NEW)}>
          New persona
        </Button>
      </SettingsHead>
      {field}
      {unreadable && !error ? <p role="alert">{unreadable}</p> : null}
      {placeholder({ isRead: data !== undefined, error, lines: 6, label: 'Reading the personas' })}
      {data && shown === null && !unreadable ? (
        <Empty title="No personas in this project">Write one with New persona.</Empty>
      ) : null}
      {data && shown !== null ? (
        <div className="personas">
          <ul className="personas__list" aria-label="Personas of the project">
            {personas.map(persona => (
              <PersonaItem
                key={persona.id}
                persona={persona}
                isShown={persona.id === shown}
                onChoose={() => setChosen(persona.id)}
              />
            ))}
          </ul>
          <PersonaEditor
            key={`${project} ${shown}`}
            project={project}
            id={shown === NEW ? null : shown}
            onSaved={async id => {
              await refresh()
              setChosen(id)
            }}
            onRemoved={async () => {
              setChosen(null)
              await refresh()
            }}
          />
        </div>
      ) : null}
    </>
  )
}

/** No persona has this id: a blank is not allowed in one. */
const NEW = ' '

function PersonaItem(props: { persona: PersonaInfo; isShown: boolean; onChoose(): void }) {
  const { persona, isShown, onChoose } = props
  return (
    <li>
      <button
        type="button"
        className={isShown ? 'personas__item personas__item--on' : 'personas__item'}
        aria-pressed={isShown}
        onClick={onChoose}
      >
        <b>{persona.id}</b>
        {persona.error ? (
          <span className="personas__bad">{`Not used: ${persona.error}`}</span>
        ) : (
          <span>{persona.description ?? ''}</span>
        )}
      </button>
    </li>
  )
}
