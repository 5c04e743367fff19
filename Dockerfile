# Build: docker build -t fawn .
# Run:   docker run --rm --init -p 127.0.0.1:2026:2026 -v fawn-data:/data fawn
#
# The log has a link that creates the owner's account. docs/docker.md has the rest: the settings that let
# commands run in namespaces, an example for compose, and images with more programs for commands.

FROM golang:1.26 AS build
RUN apt-get update && apt-get install -y --no-install-recommends busybox-static ca-certificates
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN make build VERSION=${VERSION} && release/image.sh /image && cp bin/fawn /image/usr/bin/fawn && \
    mkdir /owned && mkdir -m 700 /owned/data

FROM scratch
COPY --from=build /image/ /
COPY --from=build --chown=65532:65532 /owned/ /
USER 65532:65532
ENV FAWN_HOME=/data HOME=/data PATH=/usr/bin
WORKDIR /data
VOLUME /data
EXPOSE 2026
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:2026/health"]
ENTRYPOINT ["/usr/bin/fawn"]
CMD ["serve", "--addr", "0.0.0.0:2026"]
