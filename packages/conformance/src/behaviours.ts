/** The tested behaviours, in the order of the report. */
export const BEHAVIOURS = {
  text: 'Answers, and ends its turn once',
  streaming: 'Streams its answer',
  instructions: 'Gives instructions to the model',
  usage: 'Names the tokens it used',
  command: 'Runs a command and gives its result to the model',
  allow: 'Asks before a command, and runs it when allowed',
  deny: 'Asks before a command, and does not run it when denied',
  steering: 'Takes a message while it works',
  interrupt: 'Stops writing when interrupted, and goes on afterwards',
  'interrupt-command': 'Ends a running command when interrupted',
  leftovers: 'Leaves no process behind when killed',
  close: 'Ends when it is closed',
  resume: 'Continues a conversation in a new process',
  errors: 'Reports an error of the model as a failed turn',
  exit: 'Exits with 0 after a single turn',
  events: 'Sends only events that Chirality knows',
} as const

export type BehaviourId = keyof typeof BEHAVIOURS
