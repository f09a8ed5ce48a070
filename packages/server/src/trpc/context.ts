import type { Centre, StreamCaller } from '@chirality/centre'

/** The context of a procedure: the application, and who calls it through which connection. */
export interface CallContext {
  centre: Centre
  caller: Omit<StreamCaller, 'signal'>
}
