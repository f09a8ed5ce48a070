import { factsOf, type Question } from '@chirality/core'
import { useId, useRef } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { own } from '../../ui/own.ts'
import { collectAnswers } from '../../words/decision.logic.ts'
import type { DecisionProps } from './DecisionFrame.tsx'
import { DecisionFrame, KeyHint } from './DecisionFrame.tsx'
import { DenyForm } from './DenyForm.tsx'
import { useDecisionDraft } from './decision-drafts.ts'
import { UnknownDecision } from './UnknownDecision.tsx'
import { useDecisionKeys } from './use-decision-keys.ts'

interface Given {
  chosen: readonly string[]
  other: string
}

const NOTHING: Given = { chosen: [], other: '' }

export function QuestionDecision(props: DecisionProps) {
  const { questions } = factsOf(props.request)
  // A form of an MCP server, or a shape we do not know: shown as it is, answered as JSON.
  if (questions === undefined) return <UnknownDecision {...props} />
  return <QuestionForm {...props} questions={questions} />
}

function QuestionForm({ request, busy, answer, questions }: DecisionProps & { questions: Question[] }) {
  const { requestId } = request
  const [given, setGiven] = useDecisionDraft<Readonly<Record<string, Given>>>(requestId, 'given', {})
  const [denying, setDenying] = useDecisionDraft(requestId, 'denying', false)
  const answers = collectAnswers(questions, given)
  const card = useRef<HTMLElement>(null)
  const hasKeys = useDecisionKeys(card, {
    edit: () => card.current?.querySelector('input')?.focus(),
    deny: () => setDenying(true),
    enabled: !denying && !busy,
  })
  return (
    <DecisionFrame ref={card} request={request} title="The agent has a question" reason={request.reason}>
      <form
        className="decision__form"
        onSubmit={event => {
          event.preventDefault()
          if (answers) answer({ behavior: 'allow', updatedInput: { ...request.input, answers } })
        }}
      >
        {questions.map(question => (
          <QuestionFields
            key={question.name}
            question={question}
            given={own(given, question.name) ?? NOTHING}
            onChange={next => setGiven({ ...given, [question.name]: next })}
          />
        ))}
        {denying ? null : (
          <div className="decision__row">
            <Button type="submit" look="primary" disabled={busy || !answers}>
              Answer
            </Button>
            <Button look="quiet" disabled={busy} onClick={() => setDenying(true)}>
              Do not answer…
            </Button>
            <span className="spacer" />
            <KeyHint shown={hasKeys} keys="E · Enter · D" />
          </div>
        )}
      </form>
      {denying ? (
        <DenyForm request={request} busy={busy} answer={answer} onBack={() => setDenying(false)} />
      ) : null}
    </DecisionFrame>
  )
}

function QuestionFields(props: { question: Question; given: Given; onChange(given: Given): void }) {
  const { question, given, onChange } = props
  const group = useId()
  const choose = (label: string, on: boolean) => {
    const others = question.multiSelect ? given.chosen.filter(other => other !== label) : []
    onChange({ ...given, chosen: on ? [...others, label] : others })
  }
  return (
    <fieldset className="question">
      <legend>
        {question.header ? <span className="question__header">{question.header}</span> : null}
        {question.name}
      </legend>
      {question.options.map(option => (
        <label key={option.label} className="question__option">
          <input
            type={question.multiSelect ? 'checkbox' : 'radio'}
            name={group}
            checked={given.chosen.includes(option.label)}
            onChange={event => choose(option.label, event.target.checked)}
          />
          <span>
            <span className="question__label">{option.label}</span>
            {option.description ? <span className="question__description">{option.description}</span> : null}
          </span>
        </label>
      ))}
      {question.onlyOptions ? null : (
        <Field label={question.options.length > 0 ? 'Or in your own words' : 'Your answer'}>
          {id => (
            <input
              id={id}
              className="input"
              value={given.other}
              onChange={event => {
                const other = event.target.value
                onChange({ chosen: question.multiSelect || other === '' ? given.chosen : [], other })
              }}
            />
          )}
        </Field>
      )}
    </fieldset>
  )
}
