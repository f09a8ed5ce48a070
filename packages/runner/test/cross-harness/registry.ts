// The agents that the suites run. A new one is one line here: a function that gives all its forms.
export { acpForms } from '../acp/contestants.ts'
export { lineAgentForms } from '../line-agent/contestant.ts'
export { agentSdkForms, claudeForms, codexForms, messagesApiForms } from './built-in-agents.ts'
