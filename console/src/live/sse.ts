/** One event of a text/event-stream. */
export interface ServerEvent {
  type: string;
  data: string;
  /** The last id that the stream named, also if this event has none of its own. */
  id: string;
}

/** Splits the text of a stream into events. Comments only prove that the stream is alive. */
export class EventParser {
  #rest = "";
  #type = "";
  #data: string[] = [];

  constructor(public lastId: string) {}

  /** Takes a piece of the stream and returns the events that it completes. */
  push(piece: string): ServerEvent[] {
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    const events: ServerEvent[] = [];
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) events.push(this.#complete());
      else this.#type = "";
    }
    return events;
  }

  #complete(): ServerEvent {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.lastId };
    this.#type = "";
    this.#data = [];
    return event;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.lastId = value;
  }
}
