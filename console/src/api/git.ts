import { request } from "./client";
import type { GitClone, GitPush, GitStatus, GitSync, Schemas } from "./types";

export function gitStatus(signal: AbortSignal): Promise<GitStatus> {
  return request("git/status", { signal });
}

export function gitSync(force: boolean): Promise<GitSync> {
  const body: Schemas["GitSyncRequest"] = { force };
  return request("git/sync", { method: "POST", body });
}

export function gitPull(): Promise<GitSync> {
  return request("git/pull", { method: "POST" });
}

export function gitPush(message: string): Promise<GitPush> {
  const body: Schemas["GitPushRequest"] = { message };
  return request("git/push", { method: "POST", body });
}

export function gitClone(url: string, branch: string, token: string): Promise<GitClone> {
  const body: Schemas["GitCloneRequest"] = { url, ...(branch && { branch }), ...(token && { token }) };
  return request("git/clone", { method: "POST", body });
}
