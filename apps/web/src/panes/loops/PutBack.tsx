import { useState } from 'react'
import type { LoopTask } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { Commands } from './Commands.tsx'
import { useAction } from './use-action.ts'
import '../page.css'
import './loops.css'

type PutBackTask = Pick<
  LoopTask,
  'id' | 'title' | 'status' | 'iterations' | 'parked' | 'why' | 'commands' | 'options'
>

/** Why it stands still, and the words that put it back. */
export function PutBack({ loopId, task }: { loopId: string; task: PutBackTask }) {
  const client = useClient()
  const [note, setNote] = useState('')
  const again = useAction((chosen?: string) =>
    client.loops.resume.mutate({ loopId, again: { task: task.id, note: (chosen ?? note).trim() } }),
  )
  const allow = useAction(() => client.loops.resume.mutate({ loopId, allow: [...(task.commands ?? [])] }))
  if (task.commands !== undefined && task.commands.length > 0)
    return (
      <section
        className="page__card loops__parked loops__parked--parked"
        aria-label={`Commands of ${task.title}`}
      >
        <p>
          {`The list names commands that nobody allowed for this loop.${task.iterations === 0 ? ' Nothing of this task has run.' : ''}`}
        </p>
        <div className="loops__plan">
          <Commands title="It would run" commands={task.commands} />
        </div>
        {/* A task that has run keeps the words that it began with. */}
        {task.iterations === 0 ? (
          <p className="loops__hint">
            If you do not want them, take them out of the list and run the task again.
          </p>
        ) : null}
        <div className="page__buttons">
          {task.iterations === 0 ? (
            <Button size="small" disabled={again.isBusy || allow.isBusy} onClick={() => again.run()}>
              Run again with the list as it is now
            </Button>
          ) : null}
          <Button look="primary" size="small" disabled={again.isBusy || allow.isBusy} onClick={allow.run}>
            {task.commands.length === 1 ? 'Allow exactly this command' : 'Allow exactly these commands'}
          </Button>
        </div>
      </section>
    )
  const isQuestion = task.parked === 'question' || task.parked === 'plan' || task.parked === 'permission'
  return (
    <form
      className={`page__card loops__parked loops__parked--${task.status}`}
      onSubmit={event => {
        event.preventDefault()
        again.run()
      }}
    >
      <p>{task.why}</p>
      {task.options && task.options.length > 0 ? (
        <div className="loops__options">
          {task.options.map(option => (
            <Button key={option} size="small" disabled={again.isBusy} onClick={() => again.run(option)}>
              {option}
            </Button>
          ))}
        </div>
      ) : null}
      <Field label={isQuestion ? 'Your answer' : 'A note for the agent'}>
        {id => (
          <textarea
            id={id}
            className="input"
            rows={2}
            value={note}
            onChange={event => setNote(event.target.value)}
          />
        )}
      </Field>
      <div className="page__buttons">
        <Button type="submit" size="small" disabled={again.isBusy || (isQuestion && note.trim() === '')}>
          {isQuestion ? 'Answer' : 'Run again'}
        </Button>
      </div>
    </form>
  )
}
