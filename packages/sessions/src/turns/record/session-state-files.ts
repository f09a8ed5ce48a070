import type { FileOps } from '@chirality/disk'
import { AgentNotes } from '../../queue/agent-notes.ts'
import { QueueFile } from '../../queue/queue-file.ts'
import { SpoolIndex } from '../../store/spool-index.ts'
import { TurnImages } from '../../store/turn-images.ts'
import { KeptAgentsFile } from './kept-agents-file.ts'
import { TurnRecordFile } from './turn-record.ts'

/** The small files of one session beside its log, all under `.chirality/state`. Opened with the session. */
export class SessionStateFiles {
  readonly record: TurnRecordFile
  readonly spools: SpoolIndex
  readonly agents: KeptAgentsFile
  readonly notes: AgentNotes
  readonly queue: QueueFile
  readonly images: TurnImages

  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    this.record = new TurnRecordFile(projectRoot, sessionId, ops)
    this.spools = new SpoolIndex(projectRoot, sessionId, ops)
    this.agents = new KeptAgentsFile(projectRoot, sessionId, ops)
    this.notes = new AgentNotes(projectRoot, sessionId, ops)
    this.queue = new QueueFile(projectRoot, sessionId, ops)
    this.images = new TurnImages(projectRoot, sessionId, ops)
  }

  /** Makes the folders for what is written synchronously while an agent starts. Called before each turn. */
  async prepare(): Promise<void> {
    await Promise.all([this.record.prepare(), this.spools.prepare(), this.agents.prepare()])
  }
}
